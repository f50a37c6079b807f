// Nothing tracked depends on the machine it was written on: no absolute paths of people's folders, no package hosts.

import { resolve } from 'node:path';
import { textOf, trackedFiles } from './files.mjs';

export const title = 'no machine paths or package hosts in tracked files';

const HOST = /:\/\/(?:registry|deb)\.[\w.-]+/;
const HOME = /(?<![\w.])\/(?:home|Users)\/\w+\/|(?<![\w.])\/root\/\w/;

export function check(root) {
  const here = resolve(root);
  const complaints = [];
  for (const path of trackedFiles(root)) {
    const text = textOf(root, path);
    // A NUL means a picture or a snapshot, where a match would be chance.
    if (text.includes('\0')) continue;
    text.split('\n').forEach((line, i) => {
      const what =
        line.match(HOST)?.[0] ?? line.match(HOME)?.[0] ?? (line.includes(`${here}/`) ? here : undefined);
      if (what) complaints.push(`${path}:${i + 1} names ${what}`);
      if (path.endsWith('package-lock.json') && line.includes('"resolved"'))
        complaints.push(`${path}:${i + 1} names where a package came from`);
    });
  }
  return complaints;
}
