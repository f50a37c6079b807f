// A worker killed while its finish travels has either finished its member and told the group, or done neither.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeFaults, type FaultServer, seedOfRun, startFaultServer } from '../support/fault-server.ts';
import { Processes } from '../support/processes.ts';
import { wireKills } from './wire-kills.ts';

const KILLS = 10;

describeFaults('a finish on the wire', () => {
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

  it('a killed worker leaves no member finished that its group does not know', async () => {
    const report = await wireKills({ server, processes, seed: seedOfRun(), kills: KILLS });
    console.log(JSON.stringify(report.seen));
    expect(report.violations).toEqual([]);
  }, 120_000);
});
