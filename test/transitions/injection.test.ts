// An error at any command of a call leaves nothing of an item that was still checking. Past its check an item may
// be half done (a script does not roll back), but its neighbours in the batch are not touched by it.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  addManyCall,
  exchangeCall,
  extendManyCall,
  pushAdd,
  pushComplete,
  pushCompleteInLane,
  pushExtend,
  pushRetry,
} from '../../src/store/generated/engine.ts';
import {
  type Command,
  crowd,
  job,
  lane,
  laneFields,
  ROOT,
  states,
  TOKEN,
  usedQueue,
} from '../support/given.ts';
import type { Keyspace } from '../support/keyspace.ts';
import { startLegServer, type TestServer } from '../support/leg.ts';
import {
  addition,
  completion,
  type Edge,
  edges,
  ending,
  fetching,
  finishing,
  items,
  noFetch,
  seen,
  seenInLane,
} from './edges.ts';
import { addGroups, groupRequests } from './group-requests.ts';
import { queueRequests } from './requests.ts';
import { commandsOf, type Run, runShim, type Step } from './shim.ts';
import { keyspaceOf, type Request, seed, startOf } from './tables.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startLegServer();
});
afterAll(() => server?.stop());

/** Fails the call at every command in turn; tells each run and what it left. */
async function atEveryCommand(
  given: readonly Command[],
  request: Request,
  told: (run: Run, at: string) => Promise<void>,
  isLast: (step: Step) => boolean = () => false,
): Promise<number> {
  await seed(server.admin, given);
  const steps = commandsOf(await runShim(server.admin, request));
  const last = steps.findIndex(isLast);
  const count = last < 0 ? steps.length : last + 1;
  for (let k = 1; k <= count; k++) {
    await seed(server.admin, given);
    const run = await runShim(server.admin, request, k);
    const failed = commandsOf(run)[k - 1]!;
    await told(run, `${failed.command}, command ${k}, ${failed.phase} of item ${failed.item}`);
  }
  return count;
}

const hasWritten = (run: Run, k: number) =>
  commandsOf(run)
    .slice(0, k)
    .some((step) => step.isEffective);

/** A tick of the upkeep takes its mutex and gathers suspects before and beside the jobs it reclaims. */
function itemsPart(edge: Edge, space: Keyspace): Keyspace {
  if (edge.transition !== 'reclaim') return space;
  const { 'q:stalled': _suspects, 'q:stalled-check': _mutex, ...rest } = space;
  return rest;
}

describe('an error at every command in turn', () => {
  for (const edge of edges) {
    const legal = states.filter((state) => edge.successes.includes(edge.replies[state]));
    it(`${edge.transition}, ${edge.title}`, async () => {
      for (const state of legal) {
        const given = startOf(edge, state);
        await seed(server.admin, given);
        const before = itemsPart(edge, await keyspaceOf(server.admin));
        let k = 0;
        const count = await atEveryCommand(given, edge, async (run, at) => {
          k++;
          const step = commandsOf(run)[k - 1]!;
          const isPastCheck =
            step.phase === 'write' || step.phase === 'settle' || (step.item === 0 && hasWritten(run, k - 1));
          if (!isPastCheck)
            expect(itemsPart(edge, await keyspaceOf(server.admin)), `${state}: ${at}`).toEqual(before);
          // Whoever was refused by an error has to hear of it.
          if (step.item > 0 && edge.transition !== 'reclaim') {
            expect(run.error ?? JSON.stringify(run.reply), `${state}: ${at}`).toContain('injected');
          }
        });
        expect(count, state).toBeGreaterThan(2);
      }
    });
  }

  for (const request of queueRequests) {
    it(`the call ${request.title}`, async () => {
      await seed(server.admin, request.given);
      const before = await keyspaceOf(server.admin);
      let k = 0;
      await atEveryCommand(request.given, request, async (run, at) => {
        k++;
        if (hasWritten(run, k - 1)) return;
        const step = commandsOf(run)[k - 1]!;
        // Items of a batch are on their own; the call itself leaves nothing before its first write.
        if (step.item === 0 && (step.phase === 'none' || step.phase === 'check'))
          expect(await keyspaceOf(server.admin), at).toEqual(before);
      });
    });
  }
});

describe('an error at every command in turn, with a group', () => {
  // A tick goes on without a group that it cannot read.
  const isTold = (title: string) => !title.startsWith('maintain');
  for (const request of groupRequests) {
    it(request.title, async () => {
      await seed(server.admin, request.given);
      const before = await keyspaceOf(server.admin);
      let k = 0;
      let checks = 0;
      await atEveryCommand(
        request.given,
        request,
        async (run, at) => {
          k++;
          checks++;
          expect(await keyspaceOf(server.admin), at).toEqual(before);
          // Remembering a refusal for a repetition is no reason to tell of trouble.
          const isMemory = commandsOf(run)[k - 1]!.command === 'SET';
          if (isTold(request.title) && !isMemory)
            expect(run.error ?? JSON.stringify(run.reply), at).toContain('injected');
          // Everything that is read before the first write, and that write itself.
        },
        (step) => step.isEffective,
      );
      expect(checks).toBeGreaterThan(1);
    });
  }
});

describe('an error in the middle of a batch', () => {
  const adds = (...ids: string[]) => {
    const argv: string[] = [];
    for (const id of ids) pushAdd(argv, { ...addition, jobId: id });
    return { call: addManyCall, argv: addManyCall.encode(argv) };
  };
  const exchange = (push: (argv: string[], id: string) => void, ...ids: string[]) => {
    const argv: string[] = [];
    for (const id of ids) push(argv, id);
    return { call: exchangeCall, argv: exchangeCall.encode(noFetch, argv) };
  };
  const completions = (...ids: string[]) =>
    exchange((argv, id) => pushComplete(argv, { ...completion, jobId: id }), ...ids);
  const retries = (...ids: string[]) =>
    exchange(
      (argv, id) =>
        pushRetry(argv, { jobId: id, token: TOKEN, isNext: false, reason: 'r', stacktrace: '[]', ...ending }),
      ...ids,
    );
  const extensions = (...ids: string[]) => {
    const argv: string[] = [];
    for (const jobId of ids) pushExtend(argv, { jobId, token: TOKEN, leaseMs: '60000' });
    return { call: extendManyCall, argv: extendManyCall.encode(argv) };
  };
  const threeActive = [
    ...crowd(),
    ...job('active', { id: 'a' }),
    ...job('active', { id: 'b' }),
    ...job('active', { id: 'c' }),
  ];
  const groups = (...ids: string[]) =>
    addGroups(...ids.map((id) => [{ groupId: `g${id}` }, [{ id }, { id, root: 'bull:p' }]] as const));
  const wordsOf = (run: Run) => {
    const body = run.reply![2];
    // Of each group a list.
    if (run.items.some(({ name }) => name === 'add_group')) return (body as string[][]).map(([word]) => word);
    if (!Array.isArray(body[0])) return body.filter((_, i) => i % 2 === 0);
    const words = ['ok', 'ok', 'ok'];
    for (let i = 0; i < body[0].length; i += 3) words[Number(body[0][i])] = body[0][i + 1];
    return words;
  };

  for (const [title, batch, given, success] of [
    ['adds', adds, crowd(), 'added'],
    ['groups', groups, crowd(), 'added'],
    ['completions', completions, threeActive, 'ok'],
    ['retries', retries, threeActive, 'ok'],
    ['extensions', extensions, threeActive, 'ok'],
  ] as const) {
    it(`of ${title}: the first and the third are done`, async () => {
      await seed(server.admin, given);
      await runShim(server.admin, batch('a', 'c'));
      const withoutSecond = await keyspaceOf(server.admin);
      let inSecond = 0;
      let k = 0;
      await atEveryCommand(given, batch('a', 'b', 'c'), async (run, at) => {
        k++;
        const step = commandsOf(run)[k - 1]!;
        if (step.item !== 2) return;
        inSecond++;
        expect(wordsOf(run), at).toEqual([success, 'error', success]);
        if (step.phase === 'check') expect(await keyspaceOf(server.admin), at).toEqual(withoutSecond);
      });
      expect(inSecond).toBeGreaterThan(1);
    });
  }

  const ids = ['a', 'b', 'c'];
  it.each([
    {
      what: 'completions that are alike',
      alike: finishing(pushComplete, ...ids.map((jobId) => ({ ...completion, jobId, ...seen }))),
      short: 'complete+',
      given: [...usedQueue(), ...ids.flatMap((id) => job('active', { id }))],
    },
    {
      what: 'completions that hand their lanes over',
      alike: finishing(
        pushCompleteInLane,
        ...ids.map((jobId) => ({ ...completion, jobId, ...seenInLane, lane: `lane ${jobId}` })),
      ),
      short: 'complete_in_lane+',
      given: [
        ...usedQueue(),
        ...ids.flatMap((id) => [
          ...lane({ name: `lane ${id}`, out: [id], resting: [`${id}2`] }),
          ...job('active', { id, fields: laneFields('5', '1', `lane ${id}`) }),
        ]),
      ],
    },
  ])('of $what: it costs the one that it hits', async ({ alike, short, given }) => {
    expect(alike.argv[alike.argv.indexOf(short) + 1]).toBe('2');
    const hit = new Set<number>();
    let k = 0;
    await atEveryCommand(given, alike, async (run, at) => {
      if (commandsOf(run)[k++]!.item === 0) return;
      const words = wordsOf(run);
      expect(
        words.filter((word) => word === 'error'),
        at,
      ).toHaveLength(1);
      hit.add(words.indexOf('error'));
      for (const [i, id] of ids.entries()) {
        if (words[i] !== 'ok') continue;
        expect(await server.admin.hget(`${ROOT}:${id}`, 'finishedOn'), at).not.toBeNull();
        expect(await server.admin.zscore(`${ROOT}:completed`, id), at).not.toBeNull();
        expect(await server.admin.lpos(`${ROOT}:active`, id), at).toBeNull();
      }
    });
    expect([...hit].sort()).toEqual([0, 1, 2]);
  });

  it('of adds that are alike: it costs the one that it hits', async () => {
    const data = ['1', '2', '3'];
    const argv = items(pushAdd, ...data.map((text) => ({ ...addition, jobId: '', data: text })));
    expect(argv[argv.indexOf('add+') + 1]).toBe('2');
    const hit = new Set<string>();
    let k = 0;
    const request = { call: addManyCall, argv: addManyCall.encode(argv) };
    await atEveryCommand(crowd(), request, async (run, at) => {
      if (commandsOf(run)[k++]!.item === 0) return;
      const body = run.reply![2] as string[];
      expect(
        body.filter((text) => text === 'error'),
        at,
      ).toHaveLength(1);
      const told: string[] = [];
      for (let i = 0; i < body.length; i += 2) {
        if (body[i] !== 'numbered') continue;
        for (let n = 0; n < Number(body[i + 2]); n++) {
          const id = String(Number(body[i + 1]) + n);
          told.push((await server.admin.hget(`${ROOT}:${id}`, 'data')) ?? 'nothing');
          expect(await server.admin.lpos(`${ROOT}:wait`, id), at).not.toBeNull();
        }
        i++;
      }
      expect(told, at).toHaveLength(2);
      hit.add(data.filter((text) => !told.includes(text)).join());
    });
    expect([...hit].sort()).toEqual(data);
  });

  it('of a fetch: the finishes beside it stand and are told, and what was claimed is given', async () => {
    const argv: string[] = [];
    pushComplete(argv, completion);
    const request = {
      call: exchangeCall,
      argv: exchangeCall.encode({ ...noFetch, fetchCount: 4, token: 'mine:2' }, argv),
    };
    const given = [
      ...crowd(),
      ...job('active'),
      ...job('waiting', { id: 'w3' }),
      ...job('waiting', { id: 'w4' }),
    ];
    let k = 0;
    let troubles = 0;
    await atEveryCommand(given, request, async (run, at) => {
      k++;
      const step = commandsOf(run)[k - 1]!;
      const claim = run.items[step.item - 1];
      if (claim?.name !== 'claim') return;
      troubles++;
      const [refused, fetched, , , , , trouble] = run.reply![2] as [
        string[],
        unknown[],
        unknown,
        unknown,
        unknown,
        unknown,
        string,
      ];
      expect(refused, at).toEqual([]);
      expect(trouble, at).toContain('injected');
      const active = ((await keyspaceOf(server.admin))['q:active']?.value ?? []) as string[];
      for (let i = 0; i < fetched.length; i += 2) expect(active, at).toContain(fetched[i]);
      if (step.phase === 'check')
        expect(active.filter((id) => id !== 'x1').length, at).toBe(fetched.length / 2);
    });
    expect(troubles).toBeGreaterThan(4);
    // What the error kept from being fetched is there for the next one.
    await seed(server.admin, given);
    const again = await runShim(server.admin, fetching({ fetchCount: 1 }));
    expect((again.reply![2][1] as unknown[])[0]).toBe('w1');
  });

  it('of the upkeep: the other suspects are recovered', async () => {
    const { call, argv } = queueRequests.find(({ title }) => title === 'maintain')!;
    const ids = ['a', 'b', 'c'];
    const given: Command[] = [
      ...crowd(),
      ...ids.flatMap((id) => job('expired', { id })),
      ['SADD', `${ROOT}:stalled`, ...ids],
    ];
    let k = 0;
    let inItem = 0;
    await atEveryCommand(given, { call, argv }, async (run, at) => {
      k++;
      const step = commandsOf(run)[k - 1]!;
      if (step.item === 0 || step.phase !== 'check') return;
      inItem++;
      expect((run.reply![2][0] as string[]).length, at).toBe(2);
    });
    expect(inItem).toBeGreaterThan(3);
  });
});
