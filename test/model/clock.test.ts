import { afterEach, describe, expect, it, vi } from 'vitest';
import { ClientClock, ServerClock } from '../../src/model/clock.ts';

function setup() {
  const local = { ms: 1000 };
  return { local, clock: new ServerClock(() => local.ms) };
}

afterEach(() => {
  vi.useRealTimers();
});

describe('ServerClock', () => {
  it('carries the server’s time forward on the monotonic clock', () => {
    const { local, clock } = setup();
    clock.observe(5_000_000);
    expect(clock.now()).toBe(5_000_000);
    local.ms += 250;
    expect(clock.now()).toBe(5_000_250);
    expect(clock.untilMs(5_000_300)).toBe(50);
    expect(clock.untilMs(5_000_000)).toBe(0);
  });

  it('does not care what the wall clock says', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 0 });
    const { clock } = setup();
    clock.observe(5_000_000);
    vi.setSystemTime(3_600_000);
    expect(clock.now()).toBe(5_000_000);
  });

  it('uses the wall clock until it has heard from the server', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 777 });
    const { clock } = setup();
    expect(clock.isSynchronised).toBe(false);
    expect(clock.now()).toBe(777);
    clock.observe(Number.NaN);
    expect(clock.isSynchronised).toBe(false);
  });

  it('trusts the fastest reply: a slow one does not set it back', () => {
    const { local, clock } = setup();
    clock.observe(5_000_000);
    local.ms += 100;
    // This reply left the server at +20 and took 80 ms.
    clock.observe(5_000_020);
    expect(clock.now()).toBe(5_000_100);
  });

  it('improves at once on a faster reply', () => {
    const { local, clock } = setup();
    clock.observe(5_000_000 - 80);
    local.ms += 100;
    clock.observe(5_000_100);
    expect(clock.now()).toBe(5_000_100);
  });

  it('follows a server clock that drifts behind within half a minute', () => {
    const { local, clock } = setup();
    clock.observe(5_000_000);
    local.ms += 29_000;
    clock.observe(5_028_990);
    expect(clock.now()).toBe(5_029_000);
    local.ms += 2_000;
    clock.observe(5_030_990);
    expect(clock.now()).toBe(5_030_990);
  });

  it('follows at once a server clock that was set back', () => {
    const { local, clock } = setup();
    clock.observe(5_000_000);
    local.ms += 100;
    clock.observe(1_400_100);
    expect(clock.now()).toBe(1_400_100);
  });

  it('gives whole milliseconds and never waits too short', () => {
    const { local, clock } = setup();
    clock.observe(5_000_000);
    local.ms += 0.4;
    expect(clock.now()).toBe(5_000_000);
    expect(clock.untilMs(5_000_010)).toBe(10);
  });

  it('runs on performance.now by default', async () => {
    const clock = new ServerClock();
    clock.observe(5_000_000);
    const before = performance.now();
    while (performance.now() - before < 5);
    expect(clock.now()).toBeGreaterThanOrEqual(5_000_005);
    expect(clock.now()).toBeLessThan(5_005_000);
  });
});

describe('ClientClock', () => {
  it('is the wall clock, whatever the server says', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 10_000 });
    const clock = new ClientClock();
    clock.observe();
    expect(clock.now()).toBe(10_000);
    expect(clock.untilMs(10_500)).toBe(500);
    vi.setSystemTime(11_000);
    expect(clock.untilMs(10_500)).toBe(0);
  });
});
