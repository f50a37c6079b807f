// Calls may overtake each other, come twice, and come long after their client has given up on them. Whatever the order:
// what a client still waits for is done once and answered alike each time.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { addManyCall, pushAdd } from '../../src/store/generated/engine.ts';
import { usedQueue } from '../support/given.ts';
import { addition } from './edges.ts';
import { type Request, useTables } from './tables.ts';

const tables = useTables();

interface Flight {
  readonly sequence: number;
  /** As of when it was sent: a repetition carries the same. */
  readonly floor: number;
  answer?: unknown;
}

const argv: string[] = [];
pushAdd(argv, { ...addition, jobId: '' });
// Its answer is a new number each time it is done.
const add: Request = { call: addManyCall, argv: addManyCall.encode(argv) };

const steps = fc.array(
  fc.record({
    sendsNew: fc.boolean(),
    /** Which of those on their way arrives now. */
    arrives: fc.nat(11),
    /** Its client has read the reply. */
    isAnswered: fc.boolean(),
    /** One that nobody waits for comes once more. */
    late: fc.option(fc.nat(50)),
  }),
  { minLength: 20, maxLength: 80 },
);

it('what a client waits for is done once, in whichever order its calls arrive', async () => {
  let client = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (plan) => {
      const clientId = `client-${++client}`;
      await tables.given(usedQueue());
      const onTheirWay: Flight[] = [];
      const past: Flight[] = [];
      const answers = new Set<string>();
      let sequence = 0;
      for (const { sendsNew, arrives, isAnswered, late } of plan) {
        if (sendsNew && onTheirWay.length < 12) {
          sequence++;
          onTheirWay.push({ sequence, floor: (onTheirWay[0]?.sequence ?? sequence) - 1 });
        }
        const flight = onTheirWay[arrives % Math.max(onTheirWay.length, 1)];
        if (flight) {
          const [word, , answer] = await tables.send(add, { clientId, ...flight });
          expect(word).toBe('ok');
          if (flight.answer === undefined) {
            expect(answers).not.toContain(JSON.stringify(answer));
            answers.add(JSON.stringify(answer));
            flight.answer = answer;
          } else expect(answer).toEqual(flight.answer);
          if (isAnswered) past.push(...onTheirWay.splice(onTheirWay.indexOf(flight), 1));
        }
        const old = late === null ? undefined : past[late % Math.max(past.length, 1)];
        if (old) {
          const [word, , answer] = await tables.send(add, { clientId, ...old });
          if (word === 'ok') expect(answer).toEqual(old.answer);
          else expect(word).toBe('stale');
        }
      }
      expect(await tables.admin.get('bull:q:id')).toBe(await numberAfter(answers.size));
    }),
    { numRuns: 40 },
  );
});

async function numberAfter(added: number): Promise<string> {
  await tables.given(usedQueue());
  const before = Number(await tables.admin.get('bull:q:id'));
  return String(before + added);
}
