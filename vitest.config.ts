import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/soak/**', 'node_modules/**'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Two cores: more files at once only makes timing noise.
    maxWorkers: 2,
    pool: 'forks',
  },
});
