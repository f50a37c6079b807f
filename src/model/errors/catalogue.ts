// The one list of everything this library can refuse or report. A row is a family, a message and, where the
// message is ours, what to do about it. docs/errors.md is checked against this list in both directions.

import { callerErrors } from './caller.ts';
import { groupErrors } from './group.ts';
import type { CatalogueRow } from './row.ts';
import { scriptCodeErrors } from './script-codes.ts';
import { stateErrors } from './state.ts';
import { worldErrors } from './world.ts';

const rows = {
  ...callerErrors,
  ...stateErrors,
  ...groupErrors,
  ...scriptCodeErrors,
  ...worldErrors,
} as const;

/** The stable name of one error; also its `code`, except for the eleven that mirror BullMQ's script codes. */
export type ErrorKey = keyof typeof rows;

export const errorCatalogue: Readonly<Record<ErrorKey, CatalogueRow>> = Object.freeze(rows);
