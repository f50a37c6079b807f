// A reporter for vitest that only counts, for the summary of scripts/test.mjs. A file that could not be loaded and an
// error outside of any test are failures too.

import { writeFileSync } from 'node:fs';

export default class CountReporter {
  onTestRunEnd(files, errors) {
    const counts = { passed: 0, failed: errors.length, skipped: 0 };
    for (const file of files) {
      const states = [...file.children.allTests()].map((test) => test.result().state);
      for (const state of states) if (state in counts) counts[state]++;
      if (file.state() === 'failed' && !states.includes('failed')) counts.failed++;
    }
    writeFileSync(process.env.YOKE_TEST_COUNTS, JSON.stringify(counts));
  }
}
