// A server that survives being killed, and processes to kill, for one file of tests.

import { afterAll, afterEach, beforeAll } from 'vitest';
import { type FaultServer, startFaultServer } from './fault-server.ts';
import { Processes } from './processes.ts';

export interface FaultScene {
  readonly server: FaultServer;
  readonly processes: Processes;
}

export function useFaultScene(): FaultScene {
  const scene = {} as { server: FaultServer; processes: Processes };
  beforeAll(async () => {
    scene.server = await startFaultServer({ persistence: true });
    scene.processes = await Processes.start();
  });
  afterEach(() => scene.processes.clear());
  afterAll(async () => {
    await scene.processes?.stop();
    await scene.server?.stop();
  });
  return scene;
}
