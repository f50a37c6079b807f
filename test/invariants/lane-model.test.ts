// The lane engine against a model of a hundred lines, over random histories:
//  - who is ready, who runs, who is out and who rests is the same on both sides after every step;
//  - a fetch gives the job that the model gives;
//  - at the end everything runs, and no lane leaves a key.
// The soak does the same for longer.

import { expect, it } from 'vitest';
import { useBundle } from '../support/bundle.ts';
import { checkLaneHistories } from '../support/lane-history.ts';

const bundle = useBundle();

it('a thousand steps', async () => {
  expect(await checkLaneHistories(bundle, 20, 60)).toBeGreaterThanOrEqual(1000);
});
