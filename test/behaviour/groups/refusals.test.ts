// What is refused about groups: a typed error, and not a key is written or changed.

import { describe, expect, it } from 'vitest';
import {
  GroupNotFoundError,
  type GroupOptions,
  InvalidGroupStateError,
  type Job,
  YokeError,
} from '../../../src/index.ts';
import { eventually } from '../../support/eventually.ts';
import { complete, fail, undone, useGroups } from './support.ts';

const groups = useGroups();

/** The refusal; fails if anything under these queues has changed. */
async function refused(names: readonly string[], act: () => Promise<unknown>): Promise<YokeError> {
  const all = names.flatMap((name) => [name, `${name}:compensation`]);
  const before = await groups.keyspace(...all);
  const error = await act().then(
    (value) => expect.unreachable(`not refused: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(YokeError);
  expect(await groups.keyspace(...all)).toEqual(before);
  return error as YokeError;
}

describe('addGroup', () => {
  const plain = (queueName: string) => ({ name: 'a', queueName });
  const cases: [string, string, (home: string, other: string) => unknown, string?][] = [
    ['no jobs', 'GROUP_EMPTY', () => ({ jobs: [] }), 'Group must contain at least one job'],
    ['jobs that are no array', 'INVALID_OPTION', () => ({ jobs: {} })],
    ['a job that is none', 'INVALID_OPTION', (home) => ({ jobs: [plain(home), null] })],
    [
      'more than 1,000 jobs',
      'GROUP_TOO_LARGE',
      (home) => ({ jobs: Array.from({ length: 1001 }, () => plain(home)) }),
    ],
    [
      'a compensation key that matches no job',
      'GROUP_COMPENSATION_UNMATCHED',
      (home) => ({ jobs: [plain(home)], compensation: { b: { name: 'undo' } } }),
      'Compensation key "b" does not match any job name',
    ],
    [
      'opts.parent',
      'GROUP_JOB_HAS_PARENT',
      (home, other) => ({
        jobs: [plain(home), { ...plain(other), opts: { parent: { id: '1', queue: 'bull:x' } } }],
      }),
      'A job cannot belong to both a group and a flow',
    ],
    [
      'opts.repeat',
      'GROUP_JOB_TIED',
      (home, other) => ({ jobs: [plain(home), { ...plain(other), opts: { repeat: { every: 1000 } } }] }),
    ],
    [
      'opts.deduplication',
      'GROUP_JOB_TIED',
      (home, other) => ({ jobs: [plain(home), { ...plain(other), opts: { deduplication: { id: 'd' } } }] }),
    ],
    [
      'opts.group',
      'GROUP_JOB_TIED',
      (home, other) => ({
        jobs: [plain(home), { ...plain(other), opts: { group: { id: 'g', name: 'n' } } }],
      }),
    ],
    [
      'a member id that appears twice',
      'GROUP_JOB_TAKEN',
      (home) => ({
        jobs: [
          { ...plain(home), opts: { jobId: 'x1' } },
          { ...plain(home), opts: { jobId: 'x1' } },
        ],
      }),
    ],
    [
      'a member on a compensation queue',
      'GROUP_ON_COMPENSATION_QUEUE',
      (home) => ({ jobs: [plain(home), plain(`${home}:compensation`)] }),
    ],
    [
      'a compensation queue as home',
      'GROUP_ON_COMPENSATION_QUEUE',
      (home) => ({ jobs: [plain(home)], queueName: `${home}:compensation` }),
    ],
    [
      'a payload that is no JSON',
      'PAYLOAD_NOT_SERIALISABLE',
      (home) => ({ jobs: [plain(home), { ...plain(home), data: { n: 1n } }] }),
    ],
    ['a queue name with a colon', 'QUEUE_NAME_COLON', (home) => ({ jobs: [plain(home), plain('a:b')] })],
    ['no name', 'INVALID_OPTION', (home) => ({ jobs: [plain(home)], name: undefined })],
    ['a job without a name', 'INVALID_OPTION', (home) => ({ jobs: [plain(home), { queueName: home }] })],
    ['an unknown option', 'UNKNOWN_OPTION', (home) => ({ jobs: [plain(home)], timeout: 5 })],
    ['an unknown option of a job', 'UNKNOWN_OPTION', (home) => ({ jobs: [{ ...plain(home), delay: 5 }] })],
    [
      'an option that compensations do not have',
      'UNKNOWN_OPTION',
      (home) => ({ jobs: [plain(home)], compensation: { a: { name: 'undo', opts: { delay: 5 } } } }),
    ],
    [
      'a compensation without a name',
      'INVALID_OPTION',
      (home) => ({ jobs: [plain(home)], compensation: { a: {} } }),
    ],
    [
      'a compensation that is none',
      'INVALID_OPTION',
      (home) => ({ jobs: [plain(home)], compensation: { a: null } }),
    ],
    ['a group id with a colon', 'INVALID_OPTION', (home) => ({ jobs: [plain(home)], groupId: 'a:b' })],
    [
      'a group id that is the name of a part of a job',
      'INVALID_OPTION',
      (home) => ({ jobs: [plain(home)], groupId: 'failed' }),
    ],
    ['a negative timeout', 'INVALID_OPTION', (home) => ({ jobs: [plain(home)], timeoutMs: -1 })],
    [
      'an order nobody knows',
      'INVALID_OPTION',
      (home) => ({ jobs: [plain(home)], compensationOrder: 'sideways' }),
    ],
    [
      'a negative priority',
      'PRIORITY_RANGE',
      (home) => ({ jobs: [plain(home), { ...plain(home), opts: { priority: -1 } }] }),
    ],
  ];

  it.each(cases)('%s: %s', async (_what, key, options, message) => {
    const [home, other] = groups.names(2) as [string, string];
    const given = { name: 'order', ...(options(home, other) as object) } as GroupOptions;
    const error = await refused([home, other], () => groups.add(given));
    expect(error.key).toBe(key);
    if (message) expect(error.message).toBe(message);
    expect(await groups.keyspace(home, other)).toEqual({});
  });

  it('a member id that exists, on any of the queues', async () => {
    const [home, other] = groups.names(2) as [string, string];
    await groups.queue(home).add('here', {});
    await groups.queue(other).add('there', {}, { jobId: 'taken' });
    const error = await refused([home, other], () =>
      groups.add({
        name: 'order',
        jobs: [
          { name: 'a', queueName: home },
          { name: 'b', queueName: other, opts: { jobId: 'taken' } },
        ],
      }),
    );
    expect(error.key).toBe('GROUP_JOB_TAKEN');
    expect(error.message).toContain(`bull:${other}:taken`);
  });

  it('a payload over the limit, of a job, of a compensation, or by the job’s own limit', async () => {
    const [home] = groups.names(1) as [string];
    const small = groups.producer({ maxPayloadBytes: 100 });
    const big = { text: 'x'.repeat(200) };
    const jobs = [
      { name: 'a', queueName: home },
      { name: 'b', queueName: home, data: big },
    ];
    const tooLarge = 'PAYLOAD_TOO_LARGE';
    expect((await refused([home], () => small.addGroup({ name: 'g', jobs }))).key).toBe(tooLarge);
    expect(
      (
        await refused([home], () =>
          small.addGroup({
            name: 'g',
            jobs: [jobs[0]!],
            compensation: { a: { name: 'undo', data: big } },
          }),
        )
      ).key,
    ).toBe(tooLarge);
    const own = { ...jobs[1]!, opts: { sizeLimit: 50 } };
    const error = await refused([home], () => groups.add({ name: 'g', jobs: [jobs[0]!, own] }));
    expect(error.message).toBe('The size of job b exceeds the limit 50 bytes');
    expect(await groups.keyspace(home)).toEqual({});
  });

  it('more than 32 MB in all', async () => {
    const [home] = groups.names(1) as [string];
    const data = 'x'.repeat(9 * 1024 * 1024);
    const jobs = [1, 2, 3, 4].map(() => ({ name: 'a', queueName: home, data }));
    const error = await refused([home], () => groups.add({ name: 'g', jobs }));
    expect(error.key).toBe('GROUP_BYTES');
    expect(await groups.keyspace(home)).toEqual({});
  });

  it('a producer that is closed', async () => {
    const [home] = groups.names(1) as [string];
    const producer = groups.producer();
    await producer.close();
    const error = await refused([home], () =>
      producer.addGroup({ name: 'g', jobs: [{ name: 'a', queueName: home }] }),
    );
    expect(error.key).toBe('PRODUCER_CLOSED');
  });

  it('flows, which this version does not make', async () => {
    const producer = groups.producer();
    expect((await refused([], () => producer.add({ name: 'x', queueName: 'q' }))).key).toBe(
      'NOT_SUPPORTED_YET',
    );
  });
});

describe('queue.add', () => {
  it('opts.group, single and in bulk', async () => {
    const [name] = groups.names(1) as [string];
    const queue = groups.queue(name);
    await queue.getWaitingCount();
    const opts = { group: { id: 'g', name: 'n' } } as never;
    const error = await refused([name], () => queue.add('a', {}, opts));
    expect(error.key).toBe('GROUP_OPTION_RESERVED');
    await expect(queue.addBulk([{ name: 'a', data: {}, opts }])).rejects.toThrow(/opts\.group/);
    expect(await queue.getWaitingCount()).toBe(0);
  });
});

describe('a group that is not there', () => {
  it('cannot be cancelled, retried or removed', async () => {
    const [name] = groups.names(1) as [string];
    const queue = groups.queue(name);
    await queue.getWaitingCount();
    for (const act of [
      () => queue.cancelGroup('none'),
      () => queue.retryGroupCompensation('none'),
      () => queue.removeGroup('none'),
      () => queue.getGroup('none').cancel(),
    ]) {
      const error = await refused([name], act);
      expect(error).toBeInstanceOf(GroupNotFoundError);
      expect(error.message).toContain('Group none');
    }
    expect(await queue.getGroupJobs('none')).toEqual([]);
  });
});

describe('by the state of the group', () => {
  /** `a` has completed; `b` decides. */
  async function inState(state: string): Promise<{ name: string; groupId: string }> {
    const [name] = groups.names(1) as [string];
    const node = await groups.addPlain([name, name]);
    await groups.queue(name).getWaitingCount();
    await complete(await groups.claim(name));
    if (state === 'ACTIVE') return { name, groupId: node.groupId };
    const last = await groups.claim(name);
    if (state === 'COMPLETED') await complete(last);
    else await fail(last);
    if (state === 'FAILED') await groups.undoAll(name);
    if (state === 'FAILED_COMPENSATION') await fail(await groups.claim(`${name}:compensation`));
    expect(await node.group.getState()).toMatchObject({ state });
    return { name, groupId: node.groupId };
  }

  it.each([
    ['COMPLETED', 'Cannot cancel a completed group'],
    ['COMPENSATING', 'Cannot cancel group in state COMPENSATING'],
    ['FAILED', 'Cannot cancel group in state FAILED'],
    ['FAILED_COMPENSATION', 'Cannot cancel group in state FAILED_COMPENSATION'],
  ])('cancelling a group that is %s', async (state, message) => {
    const { name, groupId } = await inState(state);
    const error = await refused([name], () => groups.queue(name).cancelGroup(groupId));
    expect(error).toBeInstanceOf(InvalidGroupStateError);
    expect(error.message).toBe(message);
  });

  it.each(['ACTIVE', 'COMPENSATING', 'COMPLETED', 'FAILED'])(
    'retrying the compensation of a group that is %s',
    async (state) => {
      const { name, groupId } = await inState(state);
      const error = await refused([name], () => groups.queue(name).retryGroupCompensation(groupId));
      expect(error).toBeInstanceOf(InvalidGroupStateError);
      expect(error.message).toContain(`expected state FAILED_COMPENSATION, got ${state}`);
    },
  );

  it.each(['ACTIVE', 'COMPENSATING'])('removing a group that is %s', async (state) => {
    const { name, groupId } = await inState(state);
    const error = await refused([name], () => groups.queue(name).removeGroup(groupId));
    expect(error).toBeInstanceOf(InvalidGroupStateError);
    expect(error.key).toBe('GROUP_NOT_TERMINAL');
  });

  it('cleaning groups of a state that is not final', async () => {
    const { name } = await inState('ACTIVE');
    const queue = groups.queue(name);
    expect((await refused([name], () => queue.cleanGroups(0, 0, 'ACTIVE' as never))).key).toBe(
      'INVALID_OPTION',
    );
    expect((await refused([name], () => queue.getGroups({ state: 'LOST' as never }))).key).toBe(
      'INVALID_OPTION',
    );
  });
});

describe('changing a job of a group alone', () => {
  it('a member is not retried, whatever its state and that of its group', async () => {
    const names = groups.names(3);
    const node = await groups.addPlain(names);
    await groups.queue(names[0]!).getWaitingCount();
    await complete(await groups.claim(names[0]!));
    const [first, , third] = node.jobs as [Job, Job, Job];

    const error = await refused(names, () => first.retry('completed'));
    expect(error.key).toBe('JOB_IN_GROUP');
    await fail(await groups.claim(names[2]!));
    for (const [job, from] of [
      [first, 'completed'],
      [third, 'failed'],
    ] as const) {
      expect((await refused(names, () => job.retry(from))).key).toBe('JOB_IN_GROUP');
    }
    await groups.undoAll(names[0]!);
    expect((await refused(names, () => third.retry('failed'))).key).toBe('JOB_IN_GROUP');
  });

  it('bulk retry leaves members where they are and retries the others', async () => {
    const [name] = groups.names(1) as [string];
    const queue = groups.queue(name);
    const node = await groups.addPlain([name, name]);
    const plain = await queue.add('plain', {});
    await complete(await groups.claim(name));
    await complete(await groups.claim(name));
    await complete(await groups.claim(name));
    await eventually(async () => {
      await queue.retryJobs({ state: 'completed' });
      expect(await plain.getState()).toBe('waiting');
    });
    for (const job of node.jobs) expect(await job.getState()).toBe('completed');
    expect(await node.group.getState()).toMatchObject({ state: 'COMPLETED', completedCount: 2 });

    const failing = await groups.addPlain([name]);
    const claimed = [await groups.claim(name), await groups.claim(name)];
    for (const job of claimed) await fail(job);
    // What failed in this very millisecond may be younger than the call.
    await eventually(async () => {
      await queue.retryJobs({ state: 'failed' });
      expect(await plain.getState()).toBe('waiting');
    });
    expect(await failing.jobs[0]!.getState()).toBe('failed');
  });

  it('a pending member is not removed, nor with others', async () => {
    const [name] = groups.names(1) as [string];
    const queue = groups.queue(name);
    const node = await groups.addPlain([name, name], { opts: [undefined, { delay: 60_000 }] });
    await queue.getWaitingCount();
    for (const job of node.jobs) {
      expect((await refused([name], () => job.remove())).key).toBe('JOB_IN_GROUP');
    }
    expect(await groups.statuses(node)).toEqual(['pending', 'pending']);
  });

  it('an unsettled compensation job is neither removed nor retried', async () => {
    const [name] = groups.names(1) as [string];
    const node = await groups.addPlain([name, name]);
    await complete(await groups.claim(name));
    await fail(await groups.claim(name));
    const undo = (await groups.queue(`${name}:compensation`).getJob(`${node.groupId}-0`))!;
    const error = await refused([name], () => undo.remove());
    expect(error.key).toBe('JOB_IS_COMPENSATION');
    await groups.undoAll(name);
    expect((await refused([name], () => undo.retry('completed'))).key).toBe('JOB_IS_COMPENSATION');
  });

  it('settled jobs may go: a finished member, a settled compensation', async () => {
    const [name] = groups.names(1) as [string];
    const node = await groups.addPlain([name, name]);
    await complete(await groups.claim(name), 'kept');
    await node.jobs[0]!.remove();
    expect(await groups.statuses(node)).toEqual(['completed', 'pending']);
    await fail(await groups.claim(name));
    const [undo] = await groups.undoAll(name);
    expect(undo?.data.originalReturnValue).toBe('kept');
    await undo!.remove();
    expect(await node.group.getState()).toMatchObject({ state: 'FAILED' });
  });

  it('obliterating a home with open groups needs force', async () => {
    const [name] = groups.names(1) as [string];
    const queue = groups.queue(name);
    await groups.addPlain([name], { compensation: undone([]) });
    await queue.pause();
    // It pauses the queue, again and with an event, whatever comes of it.
    const state = async () => ({ ...(await groups.keyspace(name)), [`${name}:events`]: undefined });
    const before = await state();
    await expect(queue.obliterate()).rejects.toMatchObject({ key: 'QUEUE_HAS_OPEN_GROUPS' });
    expect(await state()).toEqual(before);
  });
});
