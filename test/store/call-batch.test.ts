// Wishes that are made together go in one call, and answers that come together are told one after the other. The session
// is a stand-in: which answers come together is what has to be decided here.

import { expect, it } from 'vitest';
import { type Asker, CallBatch, type Wish } from '../../src/store/call-batch.ts';
import { addManyCall } from '../../src/store/generated/engine.ts';
import type { Session, TimedReply } from '../../src/store/session.ts';

interface Posted {
  readonly names: readonly string[];
  readonly answered: (reply: TimedReply) => void;
  readonly failed: (error: unknown) => void;
}

class Calls extends CallBatch<string, Asker & { told(name: string): void }> {
  want(name: string, told: (name: string) => void): void {
    this.wish(name, { told, refused: () => told(`${name} refused`) });
  }

  protected override jobCount(): number {
    return 1;
  }

  protected override byteCount(): number {
    return 1;
  }

  protected override encode(batch: readonly Wish<string, Asker>[]): string[] {
    return batch.map(({ arg }) => arg);
  }

  protected override answer(batch: readonly Wish<string, Asker & { told(name: string): void }>[]): void {
    for (const { arg, asker } of batch) asker.told(arg);
  }
}

function setup(mostInFlight: number) {
  const posted: Posted[] = [];
  const session = {
    roundTrip: { mostInFlight, mostInFlightFor: () => mostInFlight },
    post: (
      _: unknown,
      names: string[],
      _at: number,
      answered: Posted['answered'],
      failed: Posted['failed'],
    ) => posted.push({ names, answered, failed }),
  };
  return { posted, calls: new Calls(session as unknown as Session, addManyCall) };
}

const named = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
const reply: TimedReply = { body: [], at: 0 };
/** Until all promises and ticks that are ready have run. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

it('the second of two answers is told when what the first leads to is on its way', async () => {
  const { posted, calls } = setup(2);
  const told: string[] = [];
  const again = (name: string) => {
    told.push(name);
    calls.want(`${name}+`, () => {});
  };
  for (const name of named('a', 64)) calls.want(name, again);
  await turn();
  expect(posted.map(({ names }) => names.length)).toEqual([32, 32]);

  for (const { answered } of posted.splice(0)) answered(reply);
  expect(told).toEqual(named('a', 32));
  await turn();

  expect(told).toEqual(named('a', 64));
  expect(posted.map(({ names }) => names)).toEqual([
    named('a', 32).map((name) => `${name}+`),
    named('a', 64)
      .slice(32)
      .map((name) => `${name}+`),
  ]);
});

it('all of many answers that come together are told, large and small ones, and failures', async () => {
  const { posted, calls } = setup(16);
  const told: string[] = [];
  for (const name of named('many', 64)) calls.want(name, (given) => told.push(given));
  await turn();
  for (const name of named('alone', 4)) {
    calls.want(name, (given) => told.push(given));
    await turn();
  }
  expect(posted.map(({ names }) => names.length)).toEqual([32, 32, 1, 1, 1, 1]);

  posted.forEach(({ answered, failed }, i) => {
    if (i === 4) failed(new Error('no'));
    else answered(reply);
  });
  await calls.settle();
  await turn();

  expect(told).toEqual([...named('many', 64), 'alone0', 'alone1', 'alone2 refused', 'alone3']);
});
