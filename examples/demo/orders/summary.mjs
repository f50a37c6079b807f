// The end of the story: how one failed order went, what the queues say, and what really happened.

const RED = 31;
const BOLD = 1;

export function sayStopped(screen, { orders, dataDir }) {
  const completed = countOf(orders, 'COMPLETED');
  const undone = countOf(orders, 'FAILED');
  const left = orders.length - completed - undone;
  screen.tell({ event: 'stopped', completed, undone, left });
  screen.say();
  screen.say(`Stopped with ${left} of ${orders.length} orders not ended.`);
  screen.say(`They wait in ${dataDir}: run npm run demo again to go on.`);
}

export function sayDone(screen, { orders, shop, timeline, dataDir, seconds }) {
  if (timeline) sayTimeline(screen, timeline);
  const completed = countOf(orders, 'COMPLETED');
  const undone = countOf(orders, 'FAILED');
  const halfDone = orders.filter((order) => !isAsItShouldBe(order, shop)).map(({ plan }) => plan.order);
  const books = shop.books();
  screen.tell({
    event: 'done',
    orders: orders.length,
    completed,
    undone,
    halfDone,
    books,
    seconds: Math.round(seconds * 10) / 10,
  });
  screen.say();
  screen.say(
    `Done in ${seconds.toFixed(1)} s: ${orders.length} orders, ${completed} completed, ${undone} failed and undone.`,
  );
  screen.say(`  the bank          ${books.charges} cards charged, ${books.refunds} charges refunded`);
  screen.say(`  the storeroom     ${books.shelf} things reserved`);
  screen.say(`  the mailbox       ${books.mails} mails sent, ${books.apologies} apologies`);
  screen.say(
    halfDone.length === 0
      ? '  half done         no order: all of it happened, or none of it is left'
      : screen.colour(RED, `  half done         orders ${halfDone.join(', ')}`),
  );
  screen.say(`  the queues are in ${dataDir}, where the next run finds them`);
  screen.say();
  screen.say('What to try next');
  screen.say('  npm run demo, and Ctrl-C in the middle, and npm run demo again');
  screen.say('  node examples/group.mjs            one group, two orders');
  screen.say('  docs/guide/groups.md               how it works and what it promises');
  if (halfDone.length > 0) process.exitCode = 1;
}

function sayTimeline(screen, { order: { plan }, steps }) {
  screen.tell({ event: 'timeline', order: plan.order, steps });
  screen.say();
  screen.say(`How order ${plan.order} went (${plan.customer}, a ${plan.item})`);
  for (const { ms, what } of steps) screen.say(`  ${String(ms).padStart(6)} ms  ${paint(what, screen)}`);
}

function paint(what, screen) {
  if (what.startsWith('the group')) return screen.colour(BOLD, what);
  return / fail/.test(what) ? screen.colour(RED, what) : what;
}

const countOf = (orders, state) => orders.filter((order) => order.state === state).length;

/** A completed order has had all its effects, an undone one has none left. */
function isAsItShouldBe({ plan, state }, shop) {
  return Object.values(shop.factsOf(plan.order)).every((isSo) => isSo === (state === 'COMPLETED'));
}
