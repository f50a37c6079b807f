// The shop's world: a bank, a storeroom and a mailbox. Every effect is a file that can be made only once, so a handler
// that runs twice does its work once, and at the end anybody can count what really happened.

import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PermanentError } from 'yokemq';

const CUSTOMERS = ['Ada', 'Grace', 'Alan', 'Edsger', 'Barbara', 'Donald', 'Radia', 'Tony', 'Frances', 'Ken'];
const ITEMS = [
  { item: 'desk', price: 240 },
  { item: 'lamp', price: 35 },
  { item: 'chair', price: 120 },
  { item: 'clock', price: 60 },
  { item: 'rug', price: 95 },
];
const BOOKS = ['charges', 'refunds', 'shelf', 'mails', 'apologies'];

// What goes wrong, and with which orders.
const isDeclined = (number) => number % 8 === 4;
const isBusy = (number) => number % 6 === 3;
const isBounced = (number) => number % 11 === 7;
/** The bank refuses its refund until somebody has called. */
export const REFUSED = 7;
/** The customer changes their mind once the card is charged. */
export const CANCELLED = 10;

export function orderOf(number) {
  return {
    order: number,
    customer: CUSTOMERS[(number - 1) % CUSTOMERS.length],
    ...ITEMS[number % ITEMS.length],
  };
}

export function openShop(folder, orders) {
  const room = (name) => join(folder, name);
  const lamps = Math.ceil(orders / ITEMS.length / 2);

  function build() {
    rmSync(folder, { recursive: true, force: true });
    for (const name of BOOKS) mkdirSync(room(name), { recursive: true });
  }

  const handlers = {
    async charge({ data: { order, price } }) {
      await pause(250 + (order % 5) * 60);
      if (isDeclined(order)) throw new PermanentError('the card was declined');
      const transaction = `tx-${order}`;
      once(room(`charges/${order}`), { transaction, price });
      return { transaction };
    },

    async refund({ data: { originalReturnValue, compensationData } }) {
      await pause(350);
      const { transaction } = originalReturnValue;
      if (transaction === `tx-${REFUSED}` && !has(room('.'), 'bank-was-called'))
        throw new Error('the bank refuses the refund');
      once(room(`refunds/${transaction}`), compensationData);
    },

    async reserve({ data: { order, item } }) {
      await pause(order === CANCELLED ? 1500 : 300 + (order % 4) * 80);
      const units = item === 'lamp' ? lamps : orders;
      for (let unit = 1; unit <= units; unit++) {
        const place = `${item}-${unit}`;
        if (once(room(`shelf/${place}`), { order }) || ownerOf(place) === order) return { place };
      }
      throw new PermanentError(`${item}s are sold out`);
    },

    async release({ data: { originalReturnValue, compensationData } }) {
      await pause(250);
      const { place } = originalReturnValue;
      // Released before, the place may be another's by now.
      if (ownerOf(place) === compensationData.order) rmSync(room(`shelf/${place}`), { force: true });
    },

    async mail({ data: { order }, attemptsMade }) {
      await pause(isBounced(order) ? 900 : 200 + (order % 3) * 100);
      if (isBounced(order)) throw new PermanentError('there is no such mailbox');
      if (isBusy(order) && attemptsMade === 0) throw new Error('the mail server is busy');
      once(room(`mails/${order}`), {});
    },

    async apologise({ data: { compensationData } }) {
      await pause(200);
      once(room(`apologies/${compensationData.order}`), {});
    },
  };

  function ownerOf(place) {
    try {
      return JSON.parse(readFileSync(room(`shelf/${place}`), 'utf8')).order;
    } catch {
      return undefined;
    }
  }

  // Whole or not at all, and only once: true for the first.
  function once(path, content) {
    const draft = room(`draft-${process.pid}`);
    writeFileSync(draft, JSON.stringify(content));
    try {
      linkSync(draft, path);
      return true;
    } catch (error) {
      if (error.code === 'EEXIST') return false;
      throw error;
    } finally {
      rmSync(draft, { force: true });
    }
  }

  return {
    build,
    handle: (job) => handlers[job.name](job),
    callTheBank: () => once(room('bank-was-called'), {}),
    /** What happened to an order in the world, whatever the queues say. */
    factsOf: (order) => ({
      isCharged: has(room('charges'), `${order}`) && !has(room('refunds'), `tx-${order}`),
      isReserved: readdirSync(room('shelf')).some((place) => ownerOf(place) === order),
      isMailed: has(room('mails'), `${order}`) && !has(room('apologies'), `${order}`),
    }),
    books: () => Object.fromEntries(BOOKS.map((name) => [name, readdirSync(room(name)).length])),
  };
}

const has = (folder, file) => readdirSync(folder).includes(file);
