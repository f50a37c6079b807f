// A run that goes on until somebody ends it: tells the port on which its child listens.

import { Children } from '../../bench/children.mjs';

process.once('SIGTERM', () => process.exit(143));
const children = new Children({ program: process.argv[2] });
const task = { library: 'yoke', params: { yoke: { 2: 'listens' } } };
const { figures } = await children.measure('yoke', () => task, 60_000);
process.send(figures.port);
