// Lanes for longer: ten thousand random steps next to the model.

import { expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';
import { checkLaneHistories } from '../support/lane-history.ts';
import { report } from './report.ts';

const bundle = useBundle();

it('ten thousand steps of lanes next to their model', async () => {
  const steps = await checkLaneHistories(bundle, 130, 80);
  report('Lanes next to their model', { 'steps compared': steps, differences: 0 });
  expect(steps).toBeGreaterThanOrEqual(10_000);
});
