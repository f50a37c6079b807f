// What several checks read: source files, markdown tables, the files under version control.

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const NOT_OURS = new Set(['.git', '.yoke', 'coverage', 'dist', 'node_modules']);

/** Paths below `folder`, relative to `root`, with forward slashes, sorted. */
export function filesBelow(root, folder, isWanted = () => true) {
  const start = join(root, folder);
  if (!existsSync(start)) return [];
  return readdirSync(start, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter((path) => !path.split('/').some((part) => NOT_OURS.has(part)) && isWanted(path))
    .sort();
}

/** What git tracks; all files of the folder where there is no git, as in an unpacked archive. */
export function trackedFiles(root) {
  try {
    const list = execFileSync('git', ['ls-files', '-z'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return list.split('\0').filter((path) => path !== '' && existsSync(join(root, path)));
  } catch {
    return filesBelow(root, '.');
  }
}

/** The file's text; empty where it does not exist, so that a check can say what is missing. */
export function textOf(root, path) {
  const file = join(root, path);
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

/** Rows of the tables whose first heading is `heading`, each as a record by column heading. */
export function tableRows(markdown, heading) {
  const rows = [];
  let columns;
  for (const line of markdown.split('\n')) {
    if (!line.startsWith('|')) {
      columns = undefined;
      continue;
    }
    const cells = line
      .replace(/^\||\|$/g, '')
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll('\\|', '|'));
    if (columns === undefined) columns = cells;
    else if (columns[0] === heading && !/^:?-+:?$/.test(cells[0])) {
      rows.push(Object.fromEntries(columns.map((column, i) => [column, cells[i] ?? ''])));
    }
  }
  return rows;
}

/** The words in backticks of a cell. */
export function quoted(cell) {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]);
}
