// For tests of applications that use queues: a server that is gone afterwards, and ways to wait and to move time
// without sleeping.

export {
  nativeServerBinary,
  type RunningServer,
  startServer,
  type ThrowawayServerOptions,
} from '../server/throwaway-server.ts';
export { type IdleOptions, whenIdle } from './idle.ts';
export { expireLeases } from './leases.ts';
export { createTestClock, type TestClock } from './time.ts';
