// Options that were read for one job are copied for the next that has the same text. What a handler does to its own
// reaches no other.

import { expect, it } from 'vitest';
import { decodeOptions } from '../../src/store/codec.ts';

it.each([
  ['flat', '{"attempts":3,"delay":5,"kl":7}'],
  ['with a list and an object in them', '{"attempts":3,"backoff":{"type":"fixed","delay":5},"tags":["a"]}'],
  ['with a name that means something to JavaScript', '{"attempts":1,"__proto__":5}'],
])('options %s are the same for each job of the text, and its own', (_, text) => {
  const expected = structuredClone(decodeOptions(text));
  for (let i = 0; i < 3; i++) {
    const options = decodeOptions(text) as unknown as Record<string, unknown>;
    expect(options).toEqual(expected);
    expect(Object.keys(options)).toEqual(Object.keys(expected));
    for (const value of Object.values(options)) {
      if (typeof value === 'object') Object.assign(value as object, { spoilt: true });
    }
    options.attempts = 99;
  }
});

it('options of another text in between are its own', () => {
  const [a, b] = ['{"attempts":3,"delay":5}', '{"attempts":3,"delay":6}'];
  expect([a, b, a, b].map((text) => decodeOptions(text!).delay)).toEqual([5, 6, 5, 6]);
});
