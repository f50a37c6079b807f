// The workloads, as data: who runs them, how many jobs, which figures must hold still for the workload to count.
// Every number of jobs is for the whole run; `--quick` takes the smaller one.

const everybody = ['yoke', 'bullmq', 'groupmq', 'bee-queue'];
const theTwo = ['yoke', 'bullmq'];

const processing = {
  run: 'process',
  libraries: everybody,
  warmUpCount: 1000,
  steady: ['rate'],
};

export const DEPTHS = [1_000, 100_000, 1_000_000];
const QUICK_DEPTHS = [1_000, 100_000];

/** The queue that the depth workload fills for a library. */
export const depthQueue = (library) => `depth-${library}`;

export const WORKLOADS = [
  {
    id: 'add-1',
    title: 'add, 1 in flight',
    how: 'One add after the other, each awaited.',
    run: 'add',
    params: { inFlight: 1 },
    libraries: everybody,
    count: 6_000,
    quickCount: 1_500,
    warmUpCount: 500,
    steady: ['rate'],
    inChart: true,
  },
  {
    id: 'add-100',
    title: 'add, 100 in flight',
    how: 'A hundred loops, each awaiting its own adds.',
    run: 'add',
    params: { inFlight: 100 },
    libraries: everybody,
    count: 40_000,
    quickCount: 8_000,
    warmUpCount: 2_000,
    steady: ['rate'],
    inChart: true,
  },
  {
    id: 'add-bulk',
    title: 'addBulk of 1,000',
    how: 'One addBulk of 1,000 jobs after the other (Bee-Queue: saveAll; GroupMQ has none).',
    run: 'add',
    params: { bulk: 1000 },
    libraries: ['yoke', 'bullmq', 'bee-queue', 'bare'],
    count: 40_000,
    quickCount: 8_000,
    warmUpCount: 2_000,
    steady: ['rate'],
    inChart: true,
  },
  {
    ...processing,
    id: 'process-1',
    title: 'process, concurrency 1',
    how: 'A filled queue, a handler that does nothing: from the worker’s start to the last completed event.',
    params: { concurrency: 1 },
    count: 5_000,
    quickCount: 1_000,
    warmUpCount: 300,
    inChart: true,
  },
  {
    ...processing,
    id: 'process-10',
    title: 'process, concurrency 10',
    how: 'A filled queue, a handler that does nothing, ten at a time.',
    params: { concurrency: 10 },
    count: 15_000,
    quickCount: 3_000,
    inChart: true,
  },
  {
    ...processing,
    id: 'process-100',
    title: 'process, concurrency 100',
    how: 'A filled queue, a handler that does nothing, a hundred at a time.',
    params: { concurrency: 100 },
    libraries: [...everybody, 'bare'],
    count: 25_000,
    quickCount: 5_000,
    inChart: true,
  },
  {
    ...processing,
    id: 'process-5ms',
    title: 'process at 100, 5 ms handlers',
    how: 'Handlers that wait for a 5 ms timer, a hundred at a time, next to the same loop without a queue.',
    params: { concurrency: 100, handlerMs: 5 },
    libraries: [...everybody, 'none'],
    count: 15_000,
    quickCount: 4_000,
    inChart: true,
  },
  {
    ...processing,
    id: 'process-retention',
    title: 'process at 100, keeping the last 100',
    how: 'removeOnComplete { count: 100 } on the worker (GroupMQ: keepCompleted 100; Bee-Queue cannot).',
    params: { concurrency: 100, keepCompleted: 100 },
    libraries: ['yoke', 'bullmq', 'groupmq'],
    count: 20_000,
    quickCount: 4_000,
    inChart: true,
  },
  {
    ...processing,
    id: 'process-priorities',
    title: 'process at 100, ten priorities',
    how: 'Jobs of ten priorities, mixed (GroupMQ and Bee-Queue have none).',
    params: { concurrency: 100, hasPriorities: true },
    libraries: theTwo,
    count: 20_000,
    quickCount: 4_000,
    inChart: true,
  },
  {
    ...processing,
    id: 'process-delays',
    title: 'process at 100, delays coming due',
    how: 'All jobs come due at the same millisecond, with the worker waiting: from then to the last completed event (GroupMQ is left out: by default it promotes 32 jobs a second).',
    params: { concurrency: 100, hasDelays: true },
    libraries: ['yoke', 'bullmq', 'bee-queue'],
    count: 8_000,
    quickCount: 2_000,
    warmUpCount: 500,
    inChart: true,
  },
  {
    ...processing,
    id: 'embedded-100',
    title: 'process at 100, embedded server',
    how: 'Concurrency 100 on the WebAssembly server that Yoke brings along, over its socket.',
    server: 'embedded',
    params: { concurrency: 100 },
    libraries: theTwo,
    count: 8_000,
    quickCount: 3_000,
    inChart: true,
  },
  {
    id: 'groups',
    title: 'groups of three, next to flows',
    how: 'A hundred in flight, workers running at 100 on every queue: sets of three no-op jobs per second, from the first add to the last end. Yoke: a transactional group over three queues. BullMQ: a flow, a parent with three children.',
    run: 'groups',
    libraries: theTwo,
    count: 4_000,
    quickCount: 1_000,
    warmUpCount: 300,
    steady: ['rate'],
    inChart: true,
  },
  {
    id: 'idle',
    title: 'idle latency',
    how: 'One idle worker, one job at a time: from the call of add to the start of the handler.',
    run: 'idle',
    libraries: everybody,
    count: 300,
    quickCount: 100,
    warmUpCount: 30,
    steady: ['p50'],
  },
  {
    id: 'distant-add',
    title: 'add through a 5 ms proxy',
    how: 'About 500 adds a second at a steady pace, through a proxy that holds every packet for 5 ms each way.',
    run: 'distant-add',
    server: 'distant',
    libraries: everybody,
    count: 800,
    quickCount: 300,
    warmUpCount: 50,
    steady: ['p50'],
  },
  {
    id: 'distant-finish',
    title: 'finish through a 5 ms proxy',
    how: 'A worker behind the proxy, concurrency 100, 5 ms handlers, about 500 jobs a second: from the end of the handler to the completed event.',
    run: 'distant-finish',
    server: 'distant',
    libraries: everybody,
    count: 800,
    quickCount: 300,
    warmUpCount: 50,
    steady: ['p50'],
  },
  {
    id: 'events',
    title: 'reading events',
    how: 'QueueEvents reads a stream from its beginning, with a listener for each kind of event (GroupMQ and Bee-Queue keep none).',
    run: 'events',
    libraries: theTwo,
    count: 40_000,
    quickCount: 8_000,
    warmUpCount: 2_000,
    steady: ['rate'],
    inChart: true,
  },
  {
    id: 'memory',
    title: 'memory per job in Redis',
    how: 'used_memory after adding and after completing all jobs, event stream and everything else included; completed jobs are kept.',
    run: 'memory',
    libraries: everybody,
    count: 20_000,
    quickCount: 5_000,
    warmUpCount: 200,
    steady: ['waitingBytes', 'completedBytes'],
    // Hardly differs from round to round.
    mostRounds: 3,
  },
  {
    id: 'depth',
    title: 'Redis time per job by depth',
    how: 'Processor time of the server per job added (100 in flight) and per job fetched and finished (concurrency 100), while that many others wait; the depths take turns on servers of their own.',
    run: 'depth',
    server: 'deep',
    libraries: theTwo,
    depths: DEPTHS,
    quickDepths: QUICK_DEPTHS,
    count: 4_000,
    quickCount: 1_500,
    warmUpCount: 500,
    steady: DEPTHS.flatMap((jobs) => [`add${jobs}`, `process${jobs}`]),
  },
];

/** What `--check` runs: the two alone, and what a slower engine would show first. */
export const CHECKED = [
  'add-100',
  'add-bulk',
  'process-1',
  'process-10',
  'process-100',
  'process-retention',
  'process-priorities',
  'process-delays',
];

/** Those whose id is named, or starts with a name: `process` means all of them. */
export function selectWorkloads(names) {
  if (names === undefined) return WORKLOADS;
  const isNamed = ({ id }) => names.some((name) => id === name || id.startsWith(`${name}-`));
  const unknown = names.find((name) => !WORKLOADS.some(({ id }) => id === name || id.startsWith(`${name}-`)));
  if (unknown !== undefined) {
    throw new Error(
      `no workload is called ${unknown}; there are ${WORKLOADS.map(({ id }) => id).join(', ')}`,
    );
  }
  return WORKLOADS.filter(isNamed);
}
