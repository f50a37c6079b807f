// Collects the numbers of a soak run for the page that scripts/soak.mjs writes.

import { appendFileSync } from 'node:fs';

export type Row = Record<string, string | number | undefined>;

/** One section of the page: a title and its numbers. */
export function report(title: string, row: Row): void {
  console.log(`${title}: ${JSON.stringify(row)}`);
  if (process.env.YOKE_SOAK_REPORT)
    appendFileSync(process.env.YOKE_SOAK_REPORT, `${JSON.stringify({ title, row })}\n`);
}
