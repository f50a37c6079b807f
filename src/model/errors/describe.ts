// Says in a few words what a caller gave, for the "got …" part of a message.

// Long enough to recognise a value, short enough that a mistaken payload does not end up in a log.
const MAX_QUOTED = 60;

export function describeGiven(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  switch (typeof value) {
    case 'string':
      return value.length > MAX_QUOTED
        ? `a string of ${value.length} characters`
        : `the string ${JSON.stringify(value)}`;
    case 'number':
    case 'boolean':
    case 'undefined':
      return String(value);
    case 'bigint':
      return `the BigInt ${value}`;
    case 'symbol':
      return 'a symbol';
    case 'function':
      return 'a function';
    default:
      return value instanceof Date ? 'a Date' : 'an object';
  }
}
