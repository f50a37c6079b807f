import { describe, it } from 'vitest';
import { reprocessManyCall } from '../../src/store/generated/engine.ts';
import { type Changes, events, fields, gone, pushedLeft, scored, without } from '../support/expected.ts';
import { type Command, crowd, job, NOW, ROOT } from '../support/given.ts';
import { expectChange, useTables } from './tables.ts';

const tables = useTables();
const reprocessMany = (from: string, most = 1000, cutoff = NOW) => ({
  call: reprocessManyCall,
  argv: reprocessManyCall.encode({ from, cutoff: String(cutoff), most, skip: 0 }),
});
const again = (from: string): Changes => {
  const other = from === 'completed' ? 'c1' : 'f1';
  const forgotten = fields({
    finishedOn: undefined,
    processedOn: undefined,
    [from === 'completed' ? 'returnvalue' : 'failedReason']: undefined,
  });
  return {
    [`q:${from}`]: gone,
    'q:1': forgotten,
    [`q:${other}`]: forgotten,
    'q:wait': [pushedLeft(other), pushedLeft('1')],
    'q:events': events(['waiting', { jobId: other, prev: from }], ['waiting', { jobId: '1', prev: from }]),
    'q:marker': scored('0', 0),
  };
};

describe('reprocess_many', () => {
  it('finished jobs run again, oldest first', async () => {
    await expectChange(
      tables,
      [...crowd(), ...job('failed')],
      reprocessMany('failed'),
      ['2', '0'],
      again('failed'),
    );
    await expectChange(
      tables,
      [...crowd(), ...job('completed')],
      reprocessMany('completed'),
      ['2', '0'],
      again('completed'),
    );
  });

  it('those that finished later stay, and a call is bounded', async () => {
    const one: Changes = {
      'q:failed': without('f1'),
      'q:f1': fields({ finishedOn: undefined, processedOn: undefined, failedReason: undefined }),
      'q:wait': pushedLeft('f1'),
      'q:events': events(['waiting', { jobId: 'f1', prev: 'failed' }]),
      'q:marker': scored('0', 0),
    };
    await expectChange(
      tables,
      [...crowd(), ...job('failed')],
      reprocessMany('failed', 1000, NOW - 30_000),
      ['1', '0'],
      one,
    );
    await expectChange(tables, [...crowd(), ...job('failed')], reprocessMany('failed', 1), ['1', '0'], one);
  });

  it('an id without a record disappears', async () => {
    const ghost: Command = ['ZADD', `${ROOT}:failed`, '1', 'ghost'];
    await expectChange(tables, [...crowd(), ghost], reprocessMany('failed', 1), ['1', '0'], {
      'q:failed': without('ghost'),
    });
  });
});
