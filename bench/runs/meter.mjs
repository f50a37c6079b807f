// Times a piece of work and says what it cost on both sides: rate, and processor time per job in Node and in Redis.

/** `startedAt`, in ms since the epoch, moves the start: for work that becomes due at a known time. */
export async function meter(probe, count, work, startedAt) {
  const redisBefore = await probe.cpuUs();
  const nodeBefore = process.cpuUsage();
  const from = startedAt === undefined ? performance.now() : startedAt - performance.timeOrigin;
  await work();
  const seconds = (performance.now() - from) / 1000;
  const node = process.cpuUsage(nodeBefore);
  const redisUs = (await probe.cpuUs()) - redisBefore;
  return {
    rate: count / seconds,
    nodeCpuUs: (node.user + node.system) / count,
    ...(redisUs > 0 ? { redisCpuUs: redisUs / count } : {}),
  };
}
