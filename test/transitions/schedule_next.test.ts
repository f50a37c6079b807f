import { describe, it } from 'vitest';
import { type ScheduleNextCallArg, scheduleNextCall } from '../../src/store/generated/engine.ts';
import {
  type Change,
  type Changes,
  events,
  fields,
  hash,
  pushedLeft,
  scored,
  text,
} from '../support/expected.ts';
import {
  type Command,
  crowd,
  delayedScore,
  hset,
  lane,
  laneMember,
  laneRules,
  NOW,
  ROOT,
  record,
  type State,
  states,
} from '../support/given.ts';
import { edgeOf, iteration, SCHEDULE, slot } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const edge = edgeOf('schedule_next');
const scheduled = (next: number, earliest: number): Changes => {
  const id = `repeat:${SCHEDULE}:${next}`;
  return {
    'q:id': text('11'),
    'q:repeat': scored(SCHEDULE, next),
    [`q:repeat:${SCHEDULE}`]: fields({ ic: '2' }),
    [`q:${id}`]: hash({
      name: 'tock',
      data: '{"z":1}',
      opts: `{"attempts":2,"jobId":"${id}","delay":${next - NOW}}`,
      timestamp: String(NOW),
      delay: String(next - NOW),
      priority: '0',
      rjk: SCHEDULE,
    }),
    'q:delayed': scored(id, delayedScore(next)),
    'q:events': events(
      ['added', { jobId: id, name: 'tock' }],
      ['delayed', { jobId: id, delay: String(next) }],
    ),
    'q:marker': scored('1', earliest),
  };
};
const base: ScheduleNextCallArg = {
  jobId: iteration,
  scheduleId: SCHEDULE,
  nextAt: '',
  every: '',
  offset: '',
  opts: '{"attempts":2',
  idText: `"repeat:${SCHEDULE}:`,
  priority: 0,
  isNext: false,
  data: '{"old":1}',
  lane: '',
};
const next = (arg: Partial<ScheduleNextCallArg> = {}) => ({
  call: scheduleNextCall,
  argv: scheduleNextCall.encode({ ...base, ...arg }),
});
const scheduler = (definition: Record<string, string>, score = slot): Command[] => [
  ...crowd(),
  ['ZADD', `${ROOT}:repeat`, String(score), SCHEDULE],
  hset(`${ROOT}:repeat:${SCHEDULE}`, definition),
];

describe('schedule_next: nothing -> delayed', () => {
  const following = slot + 60_000;
  fromEveryState(
    tables,
    edge,
    Object.fromEntries(
      states.map((state) => [state, scheduled(following, state === 'delayed' ? NOW + 30_000 : following)]),
    ) as Partial<Record<State, Changes>>,
  );

  it('with a lane in its template it waits where all others do: BullMQ knows no other place', async () => {
    const id = `repeat:${SCHEDULE}:${following}`;
    const same = scheduled(following, following);
    await expectChange(
      tables,
      scheduler({ name: 'tock', data: '{"z":1}', every: '60000', offset: '0', ic: '1' }),
      next({ lane: 'a' }),
      ['ok', id],
      {
        ...same,
        [`q:${id}`]: [
          same[`q:${id}`] as Change,
          fields({ lane: 'a', orderMs: `+${following}`, laneSeq: '11' }),
        ],
        'q:meta': fields(laneRules({ used: 'l' })),
      },
    );
  });

  it('with a lane and due at once it rests behind the one that is out', async () => {
    const every = 60_000;
    const id = `repeat:${SCHEDULE}:${NOW}`;
    const definition = { name: 'tock', data: '{"z":1}', every: String(every), ic: '1' };
    const ofNow = (delay: number) =>
      hash({
        name: 'tock',
        data: '{"z":1}',
        opts: `{"attempts":2,"jobId":"${id}","delay":${delay}}`,
        timestamp: String(NOW),
        delay: String(delay),
        priority: '3',
        rjk: SCHEDULE,
        lane: 'a',
        orderMs: `+${NOW}`,
        laneSeq: '11',
      });
    const previous = NOW - every;
    await expectChange(
      tables,
      [...scheduler(definition, previous), ...lane({ out: ['x'] })],
      next({ lane: 'a', priority: 3, jobId: `repeat:${SCHEDULE}:${previous}` }),
      ['ok', id],
      {
        'q:id': text('11'),
        'q:repeat': scored(SCHEDULE, NOW),
        [`q:repeat:${SCHEDULE}`]: fields({ ic: '2' }),
        [`q:${id}`]: ofNow(0),
        'q:de': scored(id, NOW),
        'q:meta': fields(laneRules({ used: 'p' })),
        'q:meta:lane:a': scored(laneMember(11, id), NOW),
        'q:events': events(['added', { jobId: id, name: 'tock' }], ['waiting', { jobId: id, lane: 'a' }]),
      },
    );
  });

  it('a scheduler that was removed, and an iteration that is not the pending one, schedule nothing', async () => {
    await expectChange(tables, crowd(), next(), ['removed', ''], {});
    await expectChange(
      tables,
      scheduler({ name: 'tock', every: '60000', ic: '1' }, slot + 1),
      next(),
      ['not_pending', ''],
      {},
    );
  });

  it('a slot that is taken is said to be', async () => {
    const taken = `repeat:${SCHEDULE}:${following}`;
    const given = [
      ...scheduler({ name: 'tock', every: '60000', ic: '1' }),
      hset(`${ROOT}:${taken}`, record()),
    ];
    await expectChange(tables, given, next(), ['duplicate', taken], {
      'q:events': events(['duplicated', { jobId: taken }]),
    });
  });

  it('missed slots are passed over, on the grid of the offset', async () => {
    const every = 60_000;
    const late = NOW - 10 * every - 1;
    const grid = Math.floor(NOW / every) * every + 7;
    const expected = grid > NOW ? grid : grid + every;
    const given = scheduler(
      { name: 'tock', every: String(every), offset: '7', ic: '1', data: '{"z":1}' },
      late,
    );
    await expectChange(
      tables,
      given,
      next({ jobId: `repeat:${SCHEDULE}:${late}` }),
      ['ok', `repeat:${SCHEDULE}:${expected}`],
      {
        ...scheduled(expected, Math.min(expected, NOW + 60_000)),
      },
    );
  });

  it('a pattern comes with its time, and one that is due now waits', async () => {
    const id = `repeat:${SCHEDULE}:${NOW}`;
    await expectChange(
      tables,
      scheduler({ name: 'tock', pattern: '* * * * *', ic: '1', data: '{"z":1}' }),
      next({ nextAt: String(NOW) }),
      ['ok', id],
      {
        ...scheduled(NOW, NOW),
        'q:delayed': (before) => before,
        'q:wait': pushedLeft(id),
        'q:marker': scored('0', 0),
        'q:events': events(['added', { jobId: id, name: 'tock' }], ['waiting', { jobId: id }]),
      },
    );
  });

  it('a definition from before schedulers hands the data on from job to job', async () => {
    const given = scheduler({ name: 'tock', every: '60000' });
    const changes = scheduled(following, following);
    const id = `repeat:${SCHEDULE}:${following}`;
    await expectChange(tables, given, next(), ['ok', id], {
      ...changes,
      [`q:repeat:${SCHEDULE}`]: fields({ ic: '1', data: '{"old":1}' }),
      [`q:${id}`]: [changes[`q:${id}`] as never, fields({ data: '{"old":1}' })],
    });
  });
});
