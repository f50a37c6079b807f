// What is measured: unit, direction, and how a value is written.

const whole = (value) => Math.round(value).toLocaleString('en-US');

function short(value) {
  if (value >= 100) return whole(value);
  return value.toFixed(value >= 10 ? 1 : 2);
}

const perSecond = { better: 'higher', format: (value) => `${whole(value)}/s` };
const milliseconds = { better: 'lower', format: (value) => `${short(value)} ms` };
const microseconds = { better: 'lower', format: (value) => `${short(value)} µs` };
const bytes = { better: 'lower', format: (value) => `${whole(value)} B` };

const FIGURES = {
  rate: { ...perSecond, title: 'rate' },
  p50: { ...milliseconds, title: 'p50' },
  p99: { ...milliseconds, title: 'p99' },
  waitingBytes: { ...bytes, title: 'waiting' },
  completedBytes: { ...bytes, title: 'completed' },
  redisCpuUs: { ...microseconds, title: 'Redis CPU per job' },
  nodeCpuUs: { ...microseconds, title: 'Node CPU per job' },
};

/** Figures of the depth workload carry their depth in the name: `add1000`, `process1000000`. */
export function figure(name) {
  const depth = /^(add|process)(\d+)$/.exec(name);
  if (!depth) return FIGURES[name];
  const verb = depth[1] === 'add' ? 'add' : 'fetch + finish';
  return { ...microseconds, title: `${verb}, ${whole(Number(depth[2]))} waiting` };
}

/** Said beside the main figures, in a table of its own. */
export const isCost = (name) => name === 'redisCpuUs' || name === 'nodeCpuUs';
