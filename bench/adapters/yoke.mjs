// The build that the run was started with (BENCH_YOKE names its copy), or dist.

import { bullmqApi } from './bullmq-api.mjs';

const build = process.env.BENCH_YOKE ?? new URL('../../dist/index.js', import.meta.url).href;

export default bullmqApi(await import(build));
