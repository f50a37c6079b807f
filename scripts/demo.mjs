// `npm run demo`: a fresh clone has no dist/, so it is built first.

import { buildDist } from './build-dist.mjs';

const trouble = buildDist({ ifStale: true });
if (trouble) {
  process.stderr.write(trouble);
  process.exit(1);
}
await import('../examples/demo/main.mjs');
