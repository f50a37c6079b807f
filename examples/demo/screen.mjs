// Three ways to show the same story: redrawn in place on a terminal, plain lines in a pipe, JSON for machines.
//
//   say(line)      stays on the screen, for people
//   note(line)     for a pipe, where there is no picture that shows it
//   tell(entry)    for machines
//   show(picture)  a function that returns the lines to be redrawn, on a terminal

const REDRAW_MS = 80;

export function openScreen({ isJson, stream = process.stdout }) {
  if (isJson) return jsonScreen(stream);
  return stream.isTTY ? liveScreen(stream) : plainScreen(stream);
}

const nothing = () => {};
const plainly = (_code, text) => text;

function jsonScreen(stream) {
  const tell = (entry) => stream.write(`${JSON.stringify(entry)}\n`);
  return { isLive: false, colour: plainly, say: nothing, note: nothing, tell, show: nothing, end: nothing };
}

function plainScreen(stream) {
  const say = (line = '') => stream.write(`${line}\n`);
  return { isLive: false, colour: plainly, say, note: say, tell: nothing, show: nothing, end: nothing };
}

function liveScreen(stream) {
  let picture;
  let height = 0;

  const erase = () => {
    if (height > 0) stream.write(`\x1b[${height}A\x1b[J`);
    height = 0;
  };
  const draw = () => {
    if (!picture) return;
    // A line that wraps would make the count of lines wrong.
    const lines = picture().map((line) => cut(line, (stream.columns ?? 80) - 1));
    erase();
    stream.write(lines.map((line) => `${line}\n`).join(''));
    height = lines.length;
  };
  const timer = setInterval(draw, REDRAW_MS);
  timer.unref();
  return {
    isLive: true,
    /** How many lines a picture may have. */
    get room() {
      return Math.max(6, (stream.rows ?? 24) - 3);
    },
    colour: process.env.NO_COLOR ? plainly : (code, text) => `\x1b[${code}m${text}\x1b[0m`,
    say: (line = '') => {
      erase();
      stream.write(`${line}\n`);
      draw();
    },
    note: nothing,
    tell: nothing,
    show: (next) => {
      picture = next;
    },
    /** The picture stays as it is; what is said from now on comes below. */
    end: () => {
      clearInterval(timer);
      draw();
      picture = undefined;
      height = 0;
    },
  };
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
