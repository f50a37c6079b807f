import { expect, it } from 'vitest';
import { houseWith, loadCheck } from './house.ts';

const check = await loadCheck('imports');

it('imports from a later room into an earlier one are fine', () => {
  const root = houseWith({
    'src/index.ts': "export { Worker } from './worker/worker.ts';",
    'src/worker/worker.ts':
      "import { Upkeep } from '../maintenance/upkeep.ts';\nimport { run } from '../store/run.ts';",
    'src/maintenance/upkeep.ts': "import { run } from '../store/run.ts';",
    'src/store/run.ts': "import { Redis } from 'ioredis';\nimport { now } from '../model/clock.ts';",
    'src/model/clock.ts':
      "import type { StandardSchemaV1 } from '@standard-schema/spec';\nimport os from 'node:os';",
  });
  expect(check(root)).toEqual([]);
});

it('an import against the direction is named', () => {
  const root = houseWith({
    'src/model/a.ts': "import {\n  run,\n} from '../store/run.ts';",
    'src/store/run.ts': '',
  });
  expect(check(root)).toEqual(['src/model/a.ts imports src/store/run.ts: model comes before store']);
});

it('an import of types, a dynamic import and an export count as imports', () => {
  for (const line of [
    "import type { A } from '../queue/q.ts';",
    "const q = await import('../queue/q.ts');",
    "export * from '../queue/q.ts';",
  ]) {
    expect(check(houseWith({ 'src/core/a.ts': line, 'src/queue/q.ts': '' })), line).toHaveLength(1);
  }
});

it('feature rooms do not import each other, but for the worker its maintenance', () => {
  const root = houseWith({
    'src/maintenance/m.ts': "import { w } from '../worker/w.ts';",
    'src/worker/w.ts': '',
  });
  expect(check(root)).toEqual([
    'src/maintenance/m.ts imports src/worker/w.ts: maintenance and worker do not know each other',
  ]);
});

it('only the store imports the client library', () => {
  const root = houseWith({ 'src/queue/q.ts': "import { Redis } from 'ioredis';" });
  expect(check(root)).toEqual(['src/queue/q.ts imports ioredis: only src/store speaks to the server']);
});

it('the model imports no package, and of its one type package only types', () => {
  const root = houseWith({
    'src/model/a.ts': "import { x } from '@standard-schema/spec';\nimport cron from 'croner';",
  });
  expect(check(root)).toHaveLength(2);
});

it('nothing imports the index', () => {
  const root = houseWith({ 'src/testing/t.ts': "import { Queue } from '../index.ts';", 'src/index.ts': '' });
  expect(check(root)).toEqual(['src/testing/t.ts imports src/index.ts: nothing inside src does']);
});

it('a ring is found, also within one room', () => {
  const root = houseWith({
    'src/core/a.ts': "import './b.ts';",
    'src/core/b.ts': "import './c.ts';",
    'src/core/c.ts': "import { a } from './a.ts';",
  });
  expect(check(root)).toEqual([
    'imports go round in a ring: src/core/a.ts -> src/core/b.ts -> src/core/c.ts -> src/core/a.ts',
  ]);
});

it('a ring that only types close is none', () => {
  const root = houseWith({
    'src/core/a.ts': "import './b.ts';",
    'src/core/b.ts': "import type { A } from './a.ts';",
  });
  expect(check(root)).toEqual([]);
});

it('a room that is not on the plan is named', () => {
  const root = houseWith({ 'src/utils/a.ts': "import '../model/b.ts';", 'src/model/b.ts': '' });
  expect(check(root)).toEqual(['src/utils/a.ts lies in a room that is not on the plan: utils']);
});
