import { describe, it } from 'vitest';
import { publishCall } from '../../src/store/generated/engine.ts';
import { events } from '../support/expected.ts';
import { crowd } from '../support/given.ts';
import { expectChange, useTables } from './tables.ts';

const tables = useTables();

describe('publish', () => {
  it("an event of the user's own is appended as it is", async () => {
    const argv = publishCall.encode({ maxEvents: '1000' }, ['event', 'mine', 'a', '1']);
    await expectChange(tables, crowd(), { call: publishCall, argv }, [], {
      'q:events': events(['mine', { a: '1' }]),
    });
  });
});
