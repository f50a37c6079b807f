// The checker of the fault tests, on histories written by hand: what it lets pass, and what it must not.

import { describe, expect, it } from 'vitest';
import { checkStarts } from '../support/checker.ts';
import type { Fault, Note } from '../support/processes.ts';

const LEASE_MS = 3000;
const HOLDER = 1;
const OTHER = 2;

const at = (ms: number) => BigInt(ms) * 1_000_000n;
const note = (ms: number, pid: number, op: string, job?: string): Note => ({ at: at(ms), pid, op, job });
const fault = (kind: string, from: number, to: number, more: Partial<Fault> = {}): Fault => ({
  kind,
  from: at(from),
  to: at(to),
  ...more,
});

/** The holder starts the job at 0, the other one at `againAt`; `heardAt` is when the holder's other jobs ended. */
function restart({
  againAt,
  faults = [],
  heardAt = [],
}: {
  againAt: number;
  faults?: Fault[];
  heardAt?: number[];
}) {
  const history = [
    note(0, HOLDER, 'start', 'job'),
    ...heardAt.map((ms) => note(ms, HOLDER, 'completed', `job of ${ms}`)),
    note(againAt, OTHER, 'start', 'job'),
  ];
  return checkStarts(
    history.sort((a, b) => Number(a.at - b.at)),
    faults,
    LEASE_MS,
  );
}

const UNEXCUSED = ['job job was started again without excuse (processes 1 and 2)'];
const LOST_REPLY = fault('reply lost', 0, 100, { unnoticedMs: 1500 });

describe('a second start', () => {
  it('is excused by one outage of half a lease in which its process heard nothing', () => {
    const { violations, restarts } = restart({ againAt: 3300, faults: [fault('server killed', 100, 1700)] });

    expect(violations).toEqual([]);
    expect(restarts).toEqual({ 'server killed': 1 });
  });

  it('is excused by faults that are short each and follow each other before the process is back', () => {
    const faults = [LOST_REPLY, fault('link refused', 1070, 2460)];

    const { violations, restarts } = restart({ againAt: 3330, faults });

    expect(violations).toEqual([]);
    expect(restarts).toEqual({ 'reply lost + link refused': 1 });
  });

  it('is excused by a dead link that was not noticed yet when the job started', () => {
    const faults = [fault('black hole', -200, -10, { unnoticedMs: 1500 }), fault('link refused', 1400, 2400)];

    expect(restart({ againAt: 3330, faults }).restarts).toEqual({ 'black hole + link refused': 1 });
  });

  it('is not excused by such faults if the process was heard between and after them', () => {
    const faults = [LOST_REPLY, fault('link refused', 1070, 2460)];

    expect(restart({ againAt: 3900, faults, heardAt: [1060, 2500, 3800] }).violations).toEqual(UNEXCUSED);
  });

  it('is not excused by short faults with time to come back between them, even if the process was silent', () => {
    const faults = [fault('link refused', 100, 600), fault('link refused', 2000, 2500)];

    expect(restart({ againAt: 3900, faults }).violations).toEqual(UNEXCUSED);
  });

  it('is not excused by a fault that is no outage, or by silence alone', () => {
    expect(restart({ againAt: 3900, faults: [fault('functions flushed', 100, 100)] }).violations).toEqual(
      UNEXCUSED,
    );
    expect(restart({ againAt: 3900 }).violations).toEqual(UNEXCUSED);
  });

  it('is not excused by an outage that ended before the first start or began after the second', () => {
    const faults = [fault('server killed', -4000, -1500), fault('server killed', 4000, 8000)];

    expect(restart({ againAt: 3900, faults }).violations).toEqual(UNEXCUSED);
  });

  it('is a violation inside a live lease, whatever was broken', () => {
    const broken = [
      fault('server killed', -1000, 3000),
      fault('kill', 10, 10, { pid: HOLDER }),
      fault('freeze', 10, 6000, { pid: HOLDER }),
    ];
    for (const one of broken)
      expect(restart({ againAt: 1400, faults: [one] }).violations, one.kind).toEqual(UNEXCUSED);
  });

  it('is excused by the end of its process or a stop of it, once the lease is over', () => {
    for (const kind of ['kill', 'freeze']) {
      expect(restart({ againAt: 3100, faults: [fault(kind, 10, 10, { pid: HOLDER })] }).restarts).toEqual({
        [kind]: 1,
      });
      expect(restart({ againAt: 3100, faults: [fault(kind, 10, 10, { pid: 3 })] }).violations).toEqual(
        UNEXCUSED,
      );
    }
  });

  it('is excused if its process was stopped with the job in hand while another one ran it', () => {
    const faults = [fault('freeze', -4000, 900, { pid: OTHER })];

    expect(restart({ againAt: 910, faults }).restarts).toEqual({ freeze: 1 });
  });

  it('is excused at once by a failed attempt or a job handed back', () => {
    const start = note(0, HOLDER, 'start', 'job');
    const again = note(20, OTHER, 'start', 'job');
    const thrown = note(10, HOLDER, 'throw', 'job');
    const aborted = { ...note(10, HOLDER, 'aborted', 'job'), key: 'SHUTDOWN_ABORT' };

    expect(checkStarts([start, thrown, again], [], LEASE_MS).restarts).toEqual({ 'failed attempt': 1 });
    expect(checkStarts([start, aborted, again], [], LEASE_MS).restarts).toEqual({ 'handed back': 1 });
  });
});

it('a job that was accepted as completed twice is a violation, with an excuse for its second start or without', () => {
  const history = [
    note(0, HOLDER, 'start', 'job'),
    note(10, HOLDER, 'completed', 'job'),
    note(3500, OTHER, 'start', 'job'),
    note(3510, OTHER, 'completed', 'job'),
  ];
  const faults = [fault('server killed', 20, 2000)];

  expect(checkStarts(history, faults, LEASE_MS).violations).toEqual([
    'job job was accepted as completed 2 times',
  ]);
});
