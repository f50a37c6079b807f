// Where a run took place: what matters for figures, and nothing that names the machine or its people.

import { cpus, loadavg, totalmem } from 'node:os';
import { LIBRARIES, versionOf } from './libraries.mjs';

export function describeMachine(serverVersion) {
  const versions = {};
  for (const library of Object.keys(LIBRARIES)) {
    const version = versionOf(library);
    if (version) versions[library] = version;
  }
  return {
    date: new Date().toISOString().slice(0, 10),
    cores: cpus().length,
    processor: cpus()[0]?.model.trim() || 'unknown',
    memoryGb: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
    server: serverVersion,
    load: Math.round(loadavg()[0] * 10) / 10,
    versions,
  };
}
