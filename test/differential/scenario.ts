// Runs a scenario: named steps, each done by BullMQ and then by Yoke at the same frozen time; after every step what
// the step returned or threw and the two keyspaces must be equal, so that a failure names its step.

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startLegServer, type TestServer } from '../support/leg.ts';
import { readSpace, type Space, withoutOrder } from './compare.ts';
import { BullMQSide, MAIN, type Side, YokeSide } from './sides.ts';
import { always, type Tolerated, type ToleratedName, tolerated } from './tolerated.ts';

export interface Step {
  readonly name: string;
  /** What it resolves to, or the message of what it throws, must be equal on both sides. */
  readonly run: (side: Side) => Promise<unknown>;
  /** Neighbours of one kind may be issued together without changing what becomes of each job. */
  readonly kind?: 'add' | 'fetch' | 'finish';
}

export interface Scenario {
  readonly steps: readonly Step[];
  /** Queues that exist before the first step. */
  readonly queues?: readonly string[];
  readonly tolerates?: readonly ToleratedName[];
}

// A whole second, far from any real time, so that nothing can be right by accident.
const START = Date.UTC(2030, 0, 1, 12, 0, 0);
const STEP_MS = 10;
const SMALLEST_BATCH = 3;

let server: TestServer | undefined;
let scenarioCount = 0;

/** Starts the file's server; call once per test file. */
export function useServer(): void {
  beforeAll(async () => {
    server = await startLegServer();
  });
  afterAll(async () => {
    await server?.stop();
  });
}

export function advance(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

export interface Pair {
  readonly bullmq: Side;
  readonly yoke: Side;
}

/** Both sides on fresh prefixes, at a frozen time; closed at the end. */
export async function withSides(
  queues: readonly string[],
  work: (pair: Pair) => Promise<void>,
): Promise<void> {
  if (!server) throw new Error('the server starts before the first test');
  const run = `d${++scenarioCount}`;
  // Only the wall clock is frozen: timers and the monotonic clock keep the connections alive.
  vi.useFakeTimers({ toFake: ['Date'], now: START });
  const pair: Pair = {
    bullmq: new BullMQSide(server, `${run}-bullmq`),
    yoke: new YokeSide(server, `${run}-yoke`),
  };
  try {
    for (const side of [pair.bullmq, pair.yoke]) for (const name of queues) await open(side, name);
    await work(pair);
  } finally {
    await pair.bullmq.close();
    await pair.yoke.close();
    vi.useRealTimers();
    // Snapshots scan the whole server: what is left of past scenarios would slow down the next ones.
    await server.admin.flushdb();
  }
}

// Constructors write the queue's settings in the background; nothing may be compared before.
async function open(side: Side, name: string): Promise<void> {
  await side.queue(name).waitUntilReady();
  await eventually(async () => expect(await side.redis.hexists(side.key('meta', name), 'version')).toBe(1));
}

/** The scenario one call at a time; and, where neighbours may be issued together, once more in batches. */
export function scenario(title: string, parts: Scenario): void {
  it(title, () => oneByOne(parts));
  const groups = groupsOf(parts.steps);
  if (groups.some((group) => group.length >= SMALLEST_BATCH)) {
    it(`in batches: ${title}`, () => inBatches(parts, groups));
  }
}

async function oneByOne({ steps, queues = [MAIN], tolerates = [] }: Scenario): Promise<void> {
  await withSides(queues, async (pair) => {
    const met = new Set<Tolerated>();
    for (const [index, { name, run }] of steps.entries()) {
      advance(STEP_MS);
      const at = Date.now();
      const step = `step ${index + 1}, "${name}"`;
      const expected = await outcomeOf(pair.bullmq, run);
      expect(Date.now(), `${step} must not move the clock`).toBe(at);
      const actual = await outcomeOf(pair.yoke, run);
      expect(actual, `outcome of ${step}`).toEqual(expected);
      const [bullmqSpace, yokeSpace] = await spacesOf(pair);
      level(bullmqSpace, yokeSpace, tolerates, met);
      expect(yokeSpace, `keyspace after ${step}`).toEqual(bullmqSpace);
    }
    for (const name of tolerates) {
      expect(met.has(tolerated[name]), `this scenario meets the tolerated difference "${name}"`).toBe(true);
    }
  });
}

// BullMQ does the steps of a group one by one, Yoke issues them together; then every job must be in the same state.
async function inBatches({ queues = [MAIN], tolerates = [] }: Scenario, groups: Step[][]): Promise<void> {
  await withSides(queues, async (pair) => {
    for (const group of groups) {
      advance(STEP_MS);
      const names = group.map(({ name }) => name).join('; ');
      const expected: unknown[] = [];
      for (const { run } of group) expected.push(await outcomeOf(pair.bullmq, run));
      const actual = await Promise.all(group.map(({ run }) => outcomeOf(pair.yoke, run)));
      expect(actual, `outcomes of ${names}`).toEqual(expected);
      const [bullmqSpace, yokeSpace] = await spacesOf(pair);
      level(bullmqSpace, yokeSpace, tolerates);
      expect(withoutOrder(yokeSpace), `states after ${names}`).toEqual(withoutOrder(bullmqSpace));
    }
  });
}

function groupsOf(steps: readonly Step[]): Step[][] {
  const groups: Step[][] = [];
  for (const step of steps) {
    const last = groups.at(-1);
    if (step.kind && last?.[0]?.kind === step.kind) last.push(step);
    else groups.push([step]);
  }
  return groups;
}

export function spacesOf({ bullmq, yoke }: Pair): Promise<[Space, Space]> {
  return Promise.all([readSpace(bullmq.redis, bullmq.prefix), readSpace(yoke.redis, yoke.prefix)]);
}

export function level(
  bullmq: Space,
  yoke: Space,
  names: readonly ToleratedName[],
  met = new Set<Tolerated>(),
): void {
  for (const entry of [...always, ...names.map((name): Tolerated => tolerated[name])]) {
    if (entry.level(bullmq, yoke)) met.add(entry);
  }
}

async function outcomeOf(side: Side, run: Step['run']): Promise<unknown> {
  const plain = (value: unknown) =>
    JSON.parse(JSON.stringify(value ?? null).replaceAll(side.prefix, 'PREFIX'));
  try {
    return { returned: plain(await run(side)) };
  } catch (error) {
    return { threw: plain((error as Error).message) };
  }
}
