// How one order went, moment by moment, as the queues' event streams have it.

const STEPS = {
  active: (name) => `${name} starts`,
  completed: (name) => `${name} completes`,
  failed: (name, { failedReason }) => `${name} fails for good: ${failedReason}`,
  delayed: (name) => `${name} failed, another attempt follows`,
  removed: (name) => `${name} is cancelled before it ran`,
};
const GROUP_STEPS = {
  'group:completed': () => 'the group is COMPLETED',
  'group:compensating': ({ reason }) => `the group is COMPENSATING: ${reason}`,
  'group:failed': ({ state }) => `the group is ${state}`,
  'group:recovered': () => 'the group is FAILED: everything has been undone after all',
};

/** `queues` are all that the group touches; names of its jobs by `<queue> <job id>` are in `jobNames`. */
export async function timelineOf(groupId, queues, jobNames, startedAt) {
  const steps = [{ ms: 0, what: 'the order is placed: three jobs on three queues, at once' }];
  for (const queue of queues) {
    const client = await queue.client;
    for (const [id, flat] of await client.xrange(queue.toKey('events'), '-', '+')) {
      const fields = Object.fromEntries(flat.flatMap((_, i) => (i % 2 ? [] : [[flat[i], flat[i + 1]]])));
      const name = jobNames.get(`${queue.name} ${fields.jobId}`);
      const what =
        fields.groupId === groupId
          ? GROUP_STEPS[fields.event]?.(fields)
          : name && STEPS[fields.event]?.(name, fields);
      const [at, place] = id.split('-').map(Number);
      if (what) steps.push({ ms: at - startedAt, what, place });
    }
  }
  // Of one moment: causes before effects. What happens to a group is caused by one of its jobs.
  const rank = ({ what }) => (what.startsWith('the group') ? 1 : 0);
  return steps
    .sort((a, b) => a.ms - b.ms || rank(a) - rank(b) || a.place - b.place)
    .map(({ ms, what }) => ({ ms, what }));
}
