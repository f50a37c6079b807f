import { describe, expect, it } from 'vitest';
import { maintainCall } from '../../src/store/generated/engine.ts';
import {
  type Changes,
  changed,
  events,
  fields,
  members,
  pushedRight,
  scored,
  text,
  without,
} from '../support/expected.ts';
import { type Command, crowd, job, NOW, ROOT, type State, states } from '../support/given.ts';
import { edgeOf } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const edge = edgeOf('reclaim');
const ticked = (...suspects: string[]): Changes => ({
  'q:stalled-check': text(String(NOW), true),
  'q:stalled': members(...suspects),
});
const recovered: Changes = {
  ...ticked('x1'),
  'q:active': without('1'),
  'q:1': fields({ stc: '1' }),
  'q:wait': pushedRight('1'),
  'q:events': events(['waiting', { jobId: '1', prev: 'active' }], ['stalled', { jobId: '1' }]),
  'q:marker': scored('0', 0),
};
const suspect: Command = ['SADD', `${ROOT}:stalled`, '1'];

describe('reclaim: active -> waiting', () => {
  const idle = states.filter((state) => !['active', 'foreign', 'expired'].includes(state));
  fromEveryState(tables, edge, {
    expired: recovered,
    active: ticked('1', 'x1'),
    foreign: ticked('1', 'x1'),
    ...(Object.fromEntries(idle.map((state) => [state, ticked('x1')])) as Partial<Record<State, Changes>>),
  });

  it('over the limit the job is marked to fail, but for an iteration of a live scheduler', async () => {
    const limit = fields({ stc: '2', defa: 'job stalled more than allowable limit' });
    const given = [...crowd(), suspect];
    await expectChange(tables, [...given, ...job('expired', { fields: { stc: '1' } })], edge, [['1'], '0'], {
      ...recovered,
      'q:1': limit,
    });
    const scheduled = [...given, ['ZADD', `${ROOT}:repeat`, '5', 's'] as Command];
    await expectChange(
      tables,
      [...scheduled, ...job('expired', { fields: { stc: '1', rjk: 's' } })],
      edge,
      [['1'], '0'],
      {
        ...recovered,
        'q:1': fields({ stc: '2' }),
      },
    );
    await expectChange(
      tables,
      [...given, ...job('expired', { fields: { stc: '1', rjk: 's' } })],
      edge,
      [['1'], '0'],
      { ...recovered, 'q:1': limit },
    );
  });

  it('an active job whose lease is gone is only a suspect at first', async () => {
    await expectChange(tables, [...crowd(), ...job('expired')], edge, [[], '0'], ticked('1', 'x1'));
  });

  it('an active id with something else in the place of its record disappears', async () => {
    const given: Command[] = [
      ...crowd(),
      ['LPUSH', `${ROOT}:active`, '1'],
      ['SET', `${ROOT}:1`, 'x'],
      suspect,
    ];
    await expectChange(tables, given, edge, [[], '0'], { ...ticked('x1'), 'q:active': without('1') });
  });

  it('an active id without a record, or a marker of old clients, disappears', async () => {
    const given: Command[] = [
      ...crowd(),
      ['LPUSH', `${ROOT}:active`, 'ghost', '0:5'],
      ['SADD', `${ROOT}:stalled`, 'ghost', '0:5'],
    ];
    await expectChange(tables, given, edge, [[], '0'], {
      ...ticked('x1'),
      'q:active': without('ghost', '0:5'),
    });
  });
});

describe('maintain', () => {
  it('one tick per interval, whoever calls first', async () => {
    const space = await tables.given(crowd(), job('expired'), [
      suspect,
      ['SET', `${ROOT}:stalled-check`, '7', 'PX', '20000'],
    ]);
    const [ids, waitMs] = await tables.run(edge);
    expect(ids).toEqual([]);
    expect(Number(waitMs)).toBeGreaterThan(0);
    expect(Number(waitMs)).toBeLessThanOrEqual(20_000);
    expect(await tables.keyspace()).toEqual(changed(space, {}));
  });

  it('more active jobs than one command takes become suspects', async () => {
    const ids = Array.from({ length: 15_001 }, (_, i) => `j${i}`);
    await tables.given([['LPUSH', `${ROOT}:active`, ...ids]]);
    const request = { call: maintainCall, argv: maintainCall.encode({ maxStalls: 1, intervalMs: 30_000 }) };
    expect(await tables.run(request)).toEqual([[], '0']);
    expect(await tables.admin.scard(`${ROOT}:stalled`)).toBe(15_001);
  });
});
