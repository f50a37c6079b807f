// The shape of a catalogue row.

/** Facts about one occurrence. Never payloads, passwords or lock tokens: details end up in logs. */
export type ErrorDetails = Record<string, unknown>;

/** caller: thrown at once, the call was wrong. state: the queue said no. world: the server or the network failed. */
export type ErrorFamily = 'caller' | 'state' | 'world';

export interface CatalogueRow {
  readonly family: ErrorFamily;
  /** BullMQ's numeric script code, where there is one. */
  readonly code?: number;
  /** The text is BullMQ's to the letter, because applications compare it: nothing may be appended. */
  readonly exact?: true;
  /** Builds the text by interpolation only, so that the docs can show its shape. */
  readonly message: (details: ErrorDetails) => string;
  /** What to do. Appended to the message of our own rows; of exact rows it is only the `hint` property. */
  readonly hint?: string;
}

/** Keeps the key union of a group of rows while checking each row's shape. */
export function rows<K extends string>(group: Record<K, CatalogueRow>): Record<K, CatalogueRow> {
  return group;
}
