// When a server stays away, callers are told, and within a bound. What a worker could not hand in is not called a
// failure of the job.

import { afterEach, expect, it } from 'vitest';
import { encodeFinishes } from '../../src/core/finishing.ts';
import type { Job } from '../../src/index.ts';
import { ServerClock } from '../../src/model/clock.ts';
import { OutcomeUnknownError, yokeError } from '../../src/model/errors.ts';
import { AddBatch } from '../../src/store/add-batch.ts';
import { emptyRecord } from '../../src/store/codec.ts';
import { Connection } from '../../src/store/connection.ts';
import type { NewJob } from '../../src/store/job-store.ts';
import { Session } from '../../src/store/session.ts';
import { Executor, type ExecutorSettings } from '../../src/worker/executor.ts';
import { describeFaults, type FaultServer, startFaultServer } from '../support/fault-server.ts';
import { leg } from '../support/leg.ts';
import { LinkProxy } from '../support/proxy.ts';

const PATIENCE_MS = 1000;

const anAdd: NewJob = {
  jobId: '',
  name: 'work',
  data: '{}',
  opts: '{}',
  timestamp: '',
  delay: '0',
  priority: '0',
  isNext: false,
};

describeFaults('giving up', () => {
  const endings: (() => Promise<unknown>)[] = [];

  afterEach(async () => {
    for (const end of endings.splice(0).reverse()) await end();
  });

  async function openSession(): Promise<{ server: FaultServer; proxy: LinkProxy; session: Session }> {
    const server = await startFaultServer();
    const proxy = await LinkProxy.start(server.connection);
    const connection = new Connection(proxy.connection, {
      isBlocking: false,
      skipVersionCheck: true,
      isStrict: false,
      greetingTimeoutMs: 300,
      warn: () => {},
    });
    connection.on('error', () => {});
    const session = new Session(connection, {
      root: 'bull:giving-up',
      callTimeoutMs: 300,
      clock: new ServerClock(),
      tellsTime: false,
      mode: leg === 'scripts' ? 'scripts' : 'functions',
      giveUpAfterMs: PATIENCE_MS,
    });
    endings.push(
      () => server.stop(),
      () => proxy.stop(),
      () => connection.close(true),
      async () => session.stop(),
    );
    await session.ready();
    return { server, proxy, session };
  }

  for (const link of ['refuses', 'swallows everything'] as const) {
    it(`adds are told that their outcome is unknown while the link ${link}, also those that waited behind others`, async () => {
      const { proxy, session } = await openSession();
      const batch = new AddBatch(session);
      if (link === 'refuses') proxy.refuse();
      else proxy.blackHole();
      const from = performance.now();

      // Six batches, of which two are on their way at a time.
      const outcomes = await Promise.all(
        Array.from({ length: 700 }, () => batch.add(anAdd).catch((error) => error)),
      );

      expect(outcomes.every((outcome) => outcome instanceof OutcomeUnknownError)).toBe(true);
      // One after another they would take three times the patience.
      expect(performance.now() - from).toBeLessThan(2.5 * PATIENCE_MS);
    });
  }

  it('a call given up during an outage does not run after it', async () => {
    const { server, proxy, session } = await openSession();
    const batch = new AddBatch(session);
    proxy.refuse();
    await expect(batch.add(anAdd)).rejects.toBeInstanceOf(OutcomeUnknownError);

    proxy.heal();
    const { id } = await batch.add(anAdd);

    expect(await server.admin.lrange('bull:giving-up:wait', 0, -1)).toEqual([id]);
  });
});

it('a finish that nobody answered is not handed in again as a failure', async () => {
  const handedIn: string[] = [];
  const told: Error[] = [];
  const events = {
    onActive: () => {},
    onCompleted: () => {},
    onFailed: (_job: Job, error: Error) => told.push(error),
    onRateLimited: () => {},
    onError: (error: Error) => told.push(error),
  };
  const host = { name: 'q', qualifiedName: 'bull:q', opts: {}, toKey: (type: string) => `bull:q:${type}` };
  const settings = {
    maxStartedAttempts: Number.POSITIVE_INFINITY,
    schema: null,
    maxPayloadBytes: 1000,
    removeOnComplete: null,
  };
  const executor = new Executor(
    host as never,
    async () => 'done',
    settings as unknown as ExecutorSettings,
    events,
    async (_running, finish) => {
      handedIn.push(encodeFinishes([finish])[0]!);
      throw yokeError('OUTCOME_UNKNOWN', { call: 'exchange', waitedMs: 1 });
    },
  );

  const record = { ...emptyRecord('1'), name: 'work', data: '{}', opts: '{}' };
  const { running, poison } = executor.prepare(record, 'token', performance.now());
  await executor.execute(running, poison);

  expect(handedIn).toEqual(['complete-']);
  expect(told).toMatchObject([{ key: 'OUTCOME_UNKNOWN' }]);
});
