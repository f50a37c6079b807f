// Changing the import is the whole migration: one application, compiled against both libraries and run with both.

import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';
import { main as withBullmq } from './program/with-bullmq.ts';
import { main as withYoke } from './program/with-yoke.ts';

const bundle = useBundle();

it('the two programs differ in their import alone', async () => {
  const source = (file: string) => readFile(new URL(`./program/${file}`, import.meta.url), 'utf8');
  const [theirs, ours] = await Promise.all([source('with-bullmq.ts'), source('with-yoke.ts')]);
  expect(ours).toBe(theirs.replace("from 'bullmq';", "from '../../../src/index.ts';"));
});

it('an application tells the same story with either library', async () => {
  const theirs = await withBullmq({ ...bundle.server.connection }, bundle.name());
  const ours = await withYoke({ ...bundle.server.connection }, bundle.name());

  expect(ours).toEqual(theirs);
  expect(ours.length).toBeGreaterThan(60);
});
