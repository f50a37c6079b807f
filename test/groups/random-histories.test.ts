// Groups of all kinds, on workers that are killed and frozen. What must hold is written at the top of checker.ts.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeFaults, type FaultServer, seedOfRun, startFaultServer } from '../support/fault-server.ts';
import { Processes } from '../support/processes.ts';
import { randomHistory } from './random-history.ts';

const GROUPS = 200;

describeFaults('random groups', () => {
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

  it('complete as one or are undone as one, whoever is killed or frozen', async () => {
    const seed = seedOfRun();
    const report = await randomHistory({ server, processes, seed, groupCount: GROUPS });
    console.log(`seed ${report.seed}, ${report.ms} ms: ${JSON.stringify(report.seen)}`);
    expect(report.violations).toEqual([]);
    expect(report.missing, 'never happened: the run is void').toEqual([]);
  }, 240_000);
});
