// Checks payloads with any library that speaks Standard Schema v1 (zod, valibot, arktype, …).

import type { StandardSchemaV1 } from '@standard-schema/spec';
import { yokeError } from './errors.ts';

export type { StandardSchemaV1 };

// Enough to see what is wrong; a broken array of a thousand rows would otherwise fill the log.
const MAX_ISSUES_SHOWN = 5;

/**
 * The value as the schema returns it, which may differ from the input (defaults, coercion). A promise only where
 * the schema is asynchronous. Throws or rejects with SCHEMA_REJECTED; `where` opens its message.
 */
export function validateWith<Output>(
  schema: StandardSchemaV1<unknown, Output>,
  value: unknown,
  where: string,
): Output | Promise<Output> {
  const result = schema['~standard'].validate(value);
  return 'then' in result ? result.then((settled) => accept(settled, where)) : accept(result, where);
}

/** Recognised by shape: arktype's schemas are functions, others are objects. */
export function isStandardSchema(value: unknown): value is StandardSchemaV1 {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false;
  const standard = (value as Partial<StandardSchemaV1>)['~standard'];
  return typeof standard === 'object' && standard !== null && typeof standard.validate === 'function';
}

function accept<Output>(result: StandardSchemaV1.Result<Output>, where: string): Output {
  if (!result.issues) return result.value;
  const paths = result.issues.map((issue) => pathOf(issue));
  throw yokeError('SCHEMA_REJECTED', { where, issues: describeIssues(result.issues), paths });
}

function describeIssues(issues: readonly StandardSchemaV1.Issue[]): string {
  const shown = issues.slice(0, MAX_ISSUES_SHOWN).map((issue) => {
    const path = pathOf(issue);
    return path === '' ? issue.message : `${path}: ${issue.message}`;
  });
  const rest = issues.length - shown.length;
  return rest > 0 ? `${shown.join('; ')}; and ${rest} more` : shown.join('; ');
}

function pathOf(issue: StandardSchemaV1.Issue): string {
  const keys = (issue.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part));
  return keys.join('.');
}
