import { defineConfig } from 'tsdown';

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    testing: 'src/testing/index.ts',
    // Its own file because it is the entry of a worker thread.
    'wasm-thread': 'src/server/wasm-thread.mjs',
  },
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  dts: true,
  sourcemap: true,
  fixedExtension: false,
  clean: true,
});
