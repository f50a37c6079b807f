// The work of the demo: pictures that it draws itself, as uncompressed BMP files, and what importing one means.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { PermanentError } from 'yokemq';

const compress = promisify(brotliCompress);

const WIDTH = 320;
const HEIGHT = 240;
const HEADER_BYTES = 54;

// An old camera: its card gives about one megabyte per second.
const CARD_BYTES_PER_MS = 1000;

export const photoName = (number) => `photo-${String(number).padStart(3, '0')}`;

/** Every ninth cannot be read at the first try, and number 42 was cut off on the card: it never can. */
export const isShaky = (number) => number % 9 === 0;
const BROKEN = 42;

/** Draws those photos of the card that are not there yet. The same number always gives the same picture. */
export function fillCard(dir, count) {
  mkdirSync(dir, { recursive: true });
  const present = new Set(readdirSync(dir));
  for (let number = 1; number <= count; number++) {
    const file = `${photoName(number)}.bmp`;
    if (!present.has(file)) writeFileSync(join(dir, file), draw(number));
  }
}

function draw(number) {
  const pixels = Buffer.alloc(WIDTH * HEIGHT * 3);
  let noise = number;
  for (let y = 0, at = 0; y < HEIGHT; y++) {
    for (let x = 0; x < WIDTH; x++, at += 3) {
      noise = (noise * 1103515245 + 12345) & 0x7fffffff;
      pixels[at] = (x + number * 7 + (noise & 7)) & 255;
      pixels[at + 1] = (y * 2 + number * 3) & 255;
      pixels[at + 2] = ((x * y) >> 8) & 255;
    }
  }
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('BM');
  header.writeUInt32LE(HEADER_BYTES + pixels.length, 2);
  header.writeUInt32LE(HEADER_BYTES, 10);
  header.writeUInt32LE(40, 14);
  header.writeInt32LE(WIDTH, 18);
  header.writeInt32LE(HEIGHT, 22);
  header.writeUInt16LE(1, 26);
  header.writeUInt16LE(24, 28);
  header.writeUInt32LE(pixels.length, 34);
  return number === BROKEN
    ? Buffer.concat([header, pixels.subarray(0, 1000)])
    : Buffer.concat([header, pixels]);
}

/** The job: read, check, hash, shrink, compress, store. Doing it twice does no harm. */
export async function importPhoto(job) {
  const { file, number, library } = job.data;
  if (isShaky(number) && job.attemptsMade === 0) throw new Error('the card did not answer');
  const bytes = await readFile(file);
  await pause(bytes.length / CARD_BYTES_PER_MS);
  if (bytes.length < bytes.readUInt32LE(2)) throw new PermanentError('the file is cut off: nothing to retry');
  await job.updateProgress(40);

  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  await store(join(library, `${digest}.thumb.bmp`), thumbnail(bytes));
  await job.updateProgress(60);

  const small = await compress(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } });
  await store(join(library, `${digest}.bmp.br`), small);
  await job.updateProgress(100);
  return { digest, bytes: bytes.length, stored: small.length };
}

// A reader of the library never sees half a file.
async function store(file, bytes) {
  await writeFile(`${file}.part`, bytes);
  await rename(`${file}.part`, file);
}

function thumbnail(bytes) {
  const scale = 8;
  const width = WIDTH / scale;
  const height = HEIGHT / scale;
  const small = Buffer.alloc(HEADER_BYTES + width * height * 3);
  bytes.copy(small, 0, 0, HEADER_BYTES);
  small.writeUInt32LE(small.length, 2);
  small.writeInt32LE(width, 18);
  small.writeInt32LE(height, 22);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      for (let colour = 0; colour < 3; colour++) {
        let sum = 0;
        for (let i = 0; i < scale * scale; i++) {
          const pixel = (y * scale + Math.floor(i / scale)) * WIDTH + x * scale + (i % scale);
          sum += bytes[HEADER_BYTES + pixel * 3 + colour];
        }
        small[HEADER_BYTES + (y * width + x) * 3 + colour] = sum / (scale * scale);
      }
    }
  }
  return small;
}

/** The delayed clean-up: what is in the library need not stay on the card. */
export async function clearCard(card, importedFiles) {
  let freed = 0;
  for (const file of importedFiles) {
    const path = join(card, basename(file));
    if (!existsSync(path)) continue;
    freed += (await stat(path)).size;
    rmSync(path);
  }
  return { freed };
}
