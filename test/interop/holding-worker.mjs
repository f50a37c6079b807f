// A worker in a process of its own that takes jobs and never finishes them, until it is killed.
// Arguments: the module to import, then the worker's settings as JSON.

const [module, settings] = process.argv.slice(2);
const { Worker } = await import(module);
const { queue, opts } = JSON.parse(settings);

const worker = new Worker(
  queue,
  async (job) => {
    process.stdout.write(`${job.id}\n`);
    await new Promise(() => {});
  },
  opts,
);
worker.on('error', (error) => process.stderr.write(`${error}\n`));
