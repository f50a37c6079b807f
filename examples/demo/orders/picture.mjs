// What one sees of an order: a line with the state of its three members, and of what undoes them.

const WORDS = [
  {
    active: 'charging',
    completed: 'charged',
    undoing: 'refunding',
    undone: 'refunded',
    stuck: 'refund failed',
  },
  {
    active: 'reserving',
    completed: 'reserved',
    undoing: 'releasing',
    undone: 'released',
    stuck: 'release failed',
  },
  {
    active: 'mailing',
    completed: 'mailed',
    undoing: 'apologising',
    undone: 'apologised',
    stuck: 'apology failed',
  },
];
const CELL = 16;

const GREEN = 32;
const RED = 31;
const YELLOW = 33;
const CYAN = 36;
const MAGENTA = 35;
const DIM = 2;
const BOLD = 1;

export function header(colour) {
  return colour(
    DIM,
    `  order  ${['payments', 'inventory', 'notifications'].map((name) => name.padEnd(CELL)).join('')}`,
  );
}

export function line({ plan, state, reason, members }, colour) {
  const cells = WORDS.map((words, i) => {
    const [sign, word, code] = cell(words, members[i]);
    return colour(code, `${sign} ${word}`.padEnd(CELL));
  });
  const title = `${String(plan.order).padStart(7)}  `;
  return `${title}${cells.join('')}${ending(state, reason, colour)}`;
}

function cell(words, { status = 'pending', undo } = {}) {
  if (undo === 'waiting') return ['↺', words.undoing, YELLOW];
  if (undo === 'completed') return ['↩', words.undone, MAGENTA];
  if (undo === 'failed') return ['!', words.stuck, RED];
  if (status === 'active') return ['›', words.active, CYAN];
  if (status === 'completed') return ['✓', words.completed, GREEN];
  if (status === 'failed') return ['✗', 'failed', RED];
  if (status === 'cancelled') return ['–', 'cancelled', DIM];
  return ['·', 'waits', DIM];
}

function ending(state, reason, colour) {
  switch (state) {
    case 'COMPLETED':
      return colour(GREEN, 'completed');
    case 'COMPENSATING':
      return colour(YELLOW, `being undone: ${reason}`);
    case 'FAILED':
      return colour(MAGENTA, `undone: ${reason}`);
    case 'FAILED_COMPENSATION':
      return colour(BOLD, colour(RED, `needs a person: ${reason}`));
    default:
      return '';
  }
}
