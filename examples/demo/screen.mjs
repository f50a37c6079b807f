// Three ways to show the same progress: redrawn in place on a terminal, plain lines in a pipe, JSON for machines.

const BAR_WIDTH = 32;
const REDRAW_MS = 80;

export function openScreen({ isJson, stream = process.stdout }) {
  if (isJson) return jsonScreen(stream);
  return stream.isTTY ? liveScreen(stream) : plainScreen(stream);
}

const paint = (stream) => (code, text) =>
  stream.isTTY && !process.env.NO_COLOR ? `\x1b[${code}m${text}\x1b[0m` : text;

function jsonScreen(stream) {
  const write = (entry) => stream.write(`${JSON.stringify(entry)}\n`);
  return { say: () => {}, tell: write, update: () => {}, end: () => {} };
}

function plainScreen(stream) {
  let lastTenth = -1;
  return {
    say: (line = '') => stream.write(`${line}\n`),
    tell: ({ event, photo, reason }) => {
      if (event === 'retry') stream.write(`  again   ${photo}: ${reason}\n`);
      if (event === 'failed') stream.write(`  failed  ${photo}: ${reason}\n`);
    },
    update: ({ done, total }) => {
      const tenth = Math.floor((done / total) * 10);
      if (tenth > lastTenth) stream.write(`  ${String(done).padStart(3)} of ${total} photos imported\n`);
      lastTenth = Math.max(tenth, lastTenth);
    },
    end: () => {},
  };
}

function liveScreen(stream) {
  const colour = paint(stream);
  let state;
  let news = '';
  let height = 0;
  let timer;

  const erase = () => {
    if (height > 0) stream.write(`\x1b[${height}A\x1b[J`);
    height = 0;
  };
  const draw = () => {
    erase();
    if (!state) return;
    const lines = frame(state, news, colour);
    // A line that wraps would make the count of lines wrong.
    const width = (stream.columns ?? 80) - 1;
    stream.write(`${lines.map((line) => cut(line, width)).join('\n')}\n`);
    height = lines.length;
  };
  const drawSoon = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      draw();
    }, REDRAW_MS);
  };
  return {
    say: (line = '') => {
      erase();
      stream.write(`${line}\n`);
      if (state) draw();
    },
    tell: ({ event, photo, reason }) => {
      if (event === 'retry') news = `${colour(33, 'again')}   ${photo}: ${reason}`;
      if (event === 'failed') news = `${colour(31, 'failed')}  ${photo}: ${reason}`;
      drawSoon();
    },
    update: (next) => {
      state = next;
      drawSoon();
    },
    end: () => {
      clearTimeout(timer);
      draw();
      state = undefined;
      height = 0;
    },
  };
}

function frame({ done, total, failed, waiting, retrying, running }, news, colour) {
  const share = total === 0 ? 1 : done / total;
  const slots = running.map(
    ({ photo, progress }) => `  ${colour(2, photo)} ${bar(progress / 100, 12, colour, 34)}`,
  );
  return [
    `  ${bar(share, BAR_WIDTH, colour, 32)}  ${colour(1, `${done}`)} of ${total} photos`,
    '',
    ...(slots.length > 0 ? [...slots, ''] : []),
    `  ${waiting} waiting   ${retrying} to be tried again   ${failed > 0 ? colour(31, `${failed} failed`) : '0 failed'}`,
    `  ${news}`,
  ];
}

function bar(share, width, colour, code) {
  const full = Math.round(Math.min(Math.max(share, 0), 1) * width);
  return colour(code, '█'.repeat(full)) + colour(2, '░'.repeat(width - full));
}

// Cuts at `width` visible characters; colour codes take no room.
function cut(line, width) {
  let seen = 0;
  let out = '';
  for (const part of line.split(/(\x1b\[\d+m)/)) {
    if (part.startsWith('\x1b')) out += part;
    else {
      out += part.slice(0, Math.max(0, width - seen));
      seen += part.length;
    }
  }
  return out;
}
