// Transactional groups for longer: two thousand random ones, and two hundred workers killed at the very moment at
// which their finish is on its way. What must hold is written in test/groups/checker.ts.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { randomHistory } from '../groups/random-history.ts';
import { wireKills } from '../groups/wire-kills.ts';
import { describeFaults, type FaultServer, seedOfRun, startFaultServer } from '../support/fault-server.ts';
import { Processes } from '../support/processes.ts';
import { report } from './report.ts';

const GROUPS = Number(process.env.YOKE_SOAK_GROUPS ?? 2000);
const KILLS = Number(process.env.YOKE_SOAK_KILLS ?? 200);

describeFaults('groups', () => {
  let server: FaultServer;
  let processes: Processes;

  beforeAll(async () => {
    server = await startFaultServer();
    processes = await Processes.start();
  });
  afterAll(async () => {
    await processes?.stop();
    await server?.stop();
  });

  it('random groups complete as one or are undone as one', async () => {
    const result = await randomHistory({ server, processes, seed: seedOfRun(), groupCount: GROUPS });
    report('Random groups', {
      seed: result.seed,
      groups: GROUPS,
      'void runs before': result.voidRuns,
      seconds: Math.round(result.ms / 1000),
      'violations of the invariants': result.violations.length,
    });
    report('What happened to random groups', result.seen);
    expect(result.violations).toEqual([]);
    expect(result.missing, 'never happened: the run is void').toEqual([]);
  }, 1_800_000);

  it('a worker killed on its finish leaves no member finished that its group does not know', async () => {
    const result = await wireKills({ server, processes, seed: seedOfRun(), kills: KILLS });
    report('Workers killed while their finish was on the wire', {
      seed: result.seed,
      kills: result.kills,
      'violations of the invariants': result.violations.length,
      ...result.seen,
    });
    expect(result.violations).toEqual([]);
  }, 1_800_000);
});
