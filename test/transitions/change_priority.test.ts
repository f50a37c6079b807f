import { describe, it } from 'vitest';
import { changePriorityCall } from '../../src/store/generated/engine.ts';
import { type Changes, fields, pushedLeft, pushedRight, scored, text, without } from '../support/expected.ts';
import { crowd, hset, job, laneRules, priorityScore, ROOT, type State, states } from '../support/given.ts';
import { edgeOf } from './edges.ts';
import { expectChange, fromEveryState, useTables } from './tables.ts';

const tables = useTables();
const ready: Changes = {
  'q:1': fields({ priority: '5' }),
  'q:pc': text('3'),
  'q:prioritized': scored('1', priorityScore(5, 3)),
  'q:marker': scored('0', 0),
};
const stored: Changes = { 'q:1': fields({ priority: '5' }) };
const others = states.filter((state) => !['missing', 'waiting', 'paused', 'prioritized'].includes(state));
const change = (priority: number, isNext: boolean) => ({
  call: changePriorityCall,
  argv: changePriorityCall.encode({ jobId: '1', priority, isNext }),
});

describe('change_priority: waiting | prioritized -> waiting | prioritized', () => {
  fromEveryState(tables, edgeOf('change_priority'), {
    waiting: { ...ready, 'q:wait': without('1') },
    // Parked by an older client: it is ready as well, and comes out of its parking place.
    paused: { ...ready, 'q:paused': without('1') },
    prioritized: ready,
    ...(Object.fromEntries(others.map((state) => [state, stored])) as Partial<Record<State, Changes>>),
  });

  it('priority 0 goes back to the list, behind all or in front', async () => {
    const back: Changes = {
      'q:1': fields({ priority: '0' }),
      'q:prioritized': without('1'),
      'q:marker': scored('0', 0),
    };
    const given = [...crowd(), ...job('prioritized')];
    await expectChange(tables, given, change(0, false), ['ok', ''], { ...back, 'q:wait': pushedLeft('1') });
    await expectChange(tables, given, change(0, true), ['ok', ''], { ...back, 'q:wait': pushedRight('1') });
  });

  it('where there are lanes they are told that priorities count from now on', async () => {
    const given = [...crowd(), hset(`${ROOT}:meta`, laneRules()), ...job('active')];
    await expectChange(tables, given, change(3, false), ['ok', ''], {
      'q:1': fields({ priority: '3' }),
      'q:meta': fields(laneRules({ used: 'p' })),
    });
    await expectChange(tables, given, change(0, false), ['ok', ''], {});
  });

  it('in front of its peers it uses no turn and wakes nobody', async () => {
    await expectChange(tables, [...crowd(), ...job('prioritized')], change(3, true), ['ok', ''], {
      'q:1': fields({ priority: '3' }),
      'q:prioritized': scored('1', priorityScore(3, 0)),
    });
  });
});
