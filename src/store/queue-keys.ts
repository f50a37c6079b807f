// BullMQ's class of the same name: the key names of any queue under one prefix.

import { keyTable, qualifiedName } from './keys.ts';

export type KeysMap = Record<string, string>;

export class QueueKeys {
  readonly prefix: string;

  constructor(prefix = 'bull') {
    this.prefix = prefix;
  }

  getKeys(name: string): KeysMap {
    return keyTable(this.getQueueQualifiedName(name));
  }

  toKey(name: string, type: string): string {
    return `${this.getQueueQualifiedName(name)}:${type}`;
  }

  getQueueQualifiedName(name: string): string {
    return qualifiedName(this.prefix, name, false);
  }
}
