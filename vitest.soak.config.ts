import { defineConfig } from 'vitest/config';

// Long and timing-sensitive runs, one after another so that they do not disturb each other.
export default defineConfig({
  test: {
    include: ['test/soak/**/*.test.ts'],
    testTimeout: 600_000,
    hookTimeout: 60_000,
    maxWorkers: 1,
    fileParallelism: false,
    pool: 'forks',
  },
});
