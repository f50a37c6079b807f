import { expect, it } from 'vitest';
import { houseWith, loadCheck, write } from './house.ts';

const documents = await loadCheck('documents');
const neutral = await loadCheck('neutral');

const texts = {
  'README.md': 'hello',
  'CONTRIBUTING.md': 'hello',
  'CHANGELOG.md': 'hello',
  'SECURITY.md': 'hello',
};
const manifest = JSON.stringify({ scripts: { test: 'node t.mjs', demo: 'node d.mjs' } });

it('commands that exist and links that lead somewhere are fine', () => {
  const root = houseWith({
    ...texts,
    'package.json': manifest,
    'README.md':
      '`npm ci && npm test`, `npm run demo`, [more](docs/a.md#part), [far](https://example.org/x.md)',
    'docs/a.md': '[back](../README.md)',
  });
  expect(documents(root)).toEqual([]);
});

it('a command that package.json does not have is found', () => {
  const root = houseWith({ ...texts, 'package.json': manifest, 'README.md': 'type `npm run demos`' });
  expect(documents(root)).toEqual(['README.md: package.json has no script "demos"']);
});

it('a program that is not there is found', () => {
  const root = houseWith({ ...texts, 'package.json': manifest, 'README.md': '`node examples/none.mjs`' });
  expect(documents(root)).toEqual(['README.md: there is no examples/none.mjs']);
});

it('a link that leads nowhere and a missing document are found', () => {
  const { 'SECURITY.md': _, ...others } = texts;
  const root = houseWith({ ...others, 'package.json': manifest, 'docs/a.md': '[gone](gone.md)' });
  expect(documents(root)).toEqual(['docs/a.md: the link to gone.md leads nowhere', 'SECURITY.md is missing']);
});

it('paths of a machine and hosts of packages are found', () => {
  // Put together here, or this file would be the first to be found.
  const home = ['', 'home', 'someone', 'project'].join('/');
  const host = ['https:', '', 'registry.example.org'].join('/');
  const root = houseWith({
    'a.md': `see ${home}/x`,
    'b/c.json': `{"from": "${host}/p.tgz"}`,
    'd.md': 'an ordinary /path/to/file',
  });
  expect(neutral(root)).toEqual([
    expect.stringMatching(/^a\.md:1 names/),
    expect.stringMatching(/^b\/c\.json:1 names/),
  ]);
});

it('the folder of the project itself is found', () => {
  const root = houseWith({});
  write(root, 'a.md', `run it in ${root}/bin`);
  expect(neutral(root)).toEqual([`a.md:1 names ${root}`]);
});

it('a lock file that says where packages came from is found', () => {
  const root = houseWith({ 'package-lock.json': '{\n  "resolved": "x"\n}' });
  expect(neutral(root)).toEqual(['package-lock.json:2 names where a package came from']);
});
