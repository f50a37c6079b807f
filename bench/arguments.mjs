// What the user asked for.

import { parseArgs } from 'node:util';
import { LIBRARIES } from './libraries.mjs';

export const USAGE = `npm run bench -- [options]        needs redis-server or valkey-server on the PATH

  --rounds <n>     rounds of every workload (default 7; 2 with --quick, 9 with --check)
  --quick          fewer jobs and rounds, no repetitions; under three minutes
  --only <a,b>     these workloads; a name also stands for all that begin with it (process)
  --libraries <a>  these libraries
  --resume         go on with a run that was broken off, of the same build and with the same options; what was void in it
                   is measured again
  --json           print all figures as JSON (npm run --silent bench -- --json); the progress goes to stderr
  --out <dir>      where benchmarks.md and benchmarks.svg go (default: docs for a whole run, else nowhere)
  --check          compare ratios to BullMQ with bench/expected.json; fails on a loss of a third
  --update         with --check: store the ratios of this run instead
`;

const options = {
  rounds: { type: 'string' },
  quick: { type: 'boolean', default: false },
  only: { type: 'string' },
  libraries: { type: 'string' },
  resume: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  out: { type: 'string' },
  check: { type: 'boolean', default: false },
  update: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
};

export function readArguments(argv) {
  const { values } = parseArgs({ args: argv, options, strict: true });
  const { quick: isQuick, check: isCheck } = values;
  const rounds = values.rounds === undefined ? defaultRounds(isQuick, isCheck) : Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1)
    throw new Error(`--rounds must be a whole number from 1, got ${values.rounds}`);
  if ((isQuick || isCheck) && values.resume)
    throw new Error('--quick and --check take minutes and leave nothing to go on with');
  const only = values.only?.split(',').map((name) => name.trim());
  const libraries = values.libraries?.split(',').map((name) => name.trim());
  const unknown = libraries?.find((name) => !(name in LIBRARIES));
  if (unknown !== undefined)
    throw new Error(`no library is called ${unknown}; there are ${Object.keys(LIBRARIES).join(', ')}`);
  const isWhole = !isQuick && !isCheck && only === undefined && libraries === undefined;
  return {
    rounds,
    isQuick: isQuick || isCheck,
    isCheck,
    isUpdate: values.update,
    isHelp: values.help,
    isResumed: values.resume,
    isJson: values.json,
    only,
    libraries,
    out: values.out ?? (isWhole ? 'docs' : undefined),
    // A quick look is allowed to be wrong; what others are compared with is not.
    attempts: isQuick || (isCheck && !values.update) ? 1 : 3,
    command: ['npm run bench', ...(argv.length > 0 ? ['--', ...argv] : [])].join(' '),
  };
}

function defaultRounds(isQuick, isCheck) {
  if (isCheck) return 9;
  return isQuick ? 2 : 7;
}
