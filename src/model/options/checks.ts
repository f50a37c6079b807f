// The checks the resolvers share. Each takes the option's path, the value and the default, and returns a value of
// the right type or throws INVALID_OPTION. null counts as "not given", as it does in BullMQ.

import { describeGiven, type YokeError, yokeError } from '../errors.ts';

export function invalidOption(option: string, expected: string, given: unknown): YokeError {
  return yokeError('INVALID_OPTION', { option, expected, given: describeGiven(given) });
}

export function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}

export function readBoolean(option: string, value: unknown, byDefault: boolean): boolean {
  if (!isGiven(value)) return byDefault;
  if (typeof value !== 'boolean') throw invalidOption(option, 'true or false', value);
  return value;
}

export function readString(option: string, value: unknown, byDefault: string): string {
  if (!isGiven(value)) return byDefault;
  if (typeof value !== 'string') throw invalidOption(option, 'a string', value);
  return value;
}

export interface NumberRules {
  /** Smallest value allowed; default 0. */
  readonly min?: number;
  /** Refuse fractions. */
  readonly integer?: boolean;
}

export function readNumber(
  option: string,
  value: unknown,
  byDefault: number,
  rules: NumberRules = {},
): number {
  if (!isGiven(value)) return byDefault;
  const min = rules.min ?? 0;
  const isRight =
    typeof value === 'number' &&
    Number.isFinite(value) &&
    value >= min &&
    (!rules.integer || Number.isInteger(value));
  if (isRight) return value;
  throw invalidOption(
    option,
    `${rules.integer ? 'an integer' : 'a finite number'} of at least ${min}`,
    value,
  );
}

// biome-ignore lint/suspicious/noExplicitAny: the signature is the caller's to state.
export function readFunction<F extends (...args: any[]) => unknown>(
  option: string,
  value: F | null | undefined,
): F | null {
  if (!isGiven(value)) return null;
  if (typeof value !== 'function') throw invalidOption(option, 'a function', value);
  return value;
}

/** An options object, or an empty one where none is given. */
export function readObject<T extends object>(option: string, value: T | null | undefined): Partial<T> {
  if (!isGiven(value)) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw invalidOption(option, 'an object', value);
  return value;
}

/** Refuses what this version cannot do yet: ignoring it would lose what the caller relies on. */
export function refuseUnsupported(path: string, options: object, names: readonly string[]): void {
  for (const name of names) {
    if ((options as Record<string, unknown>)[name]) {
      throw yokeError('NOT_SUPPORTED_YET', { feature: `${path}.${name}` });
    }
  }
}
