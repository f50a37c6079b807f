// Every difference between the two keyspaces that is meant. Each entry says why, and takes exactly that difference
// out of both sides; whatever else differs is a defect. `always` holds for every scenario; the others are named by
// the scenario that meets them, and an entry that a scenario names in vain fails it.

import type { ComparedKey, Space } from './compare.ts';
import type { Side } from './sides.ts';

export interface Tolerated {
  readonly reason: string;
  /** Takes the difference out of both; `true` if there was one. */
  level(bullmq: Space, yoke: Space): boolean;
}

export const always: Tolerated[] = [
  {
    reason: 'meta.version names the library version, and meta.yoke.layout the layout of our own keys',
    level(bullmq, yoke) {
      for (const space of [bullmq, yoke]) {
        for (const [suffix, key] of Object.entries(space)) {
          if (!suffix.endsWith(':meta')) continue;
          delete key.value.version;
          delete key.value['yoke.layout'];
        }
      }
      return true;
    },
  },
];

export const tolerated = {
  delayFieldInRange: {
    reason: 'BullMQ stores a negative delay as it is given and treats it as none; we store what it means, 0',
    level(bullmq) {
      let isMet = false;
      for (const key of jobsOf(bullmq)) {
        if (Number(key.value.delay) >= 0) continue;
        key.value.delay = '0';
        isMet = true;
      }
      return isMet;
    },
  },
  noEmptyId: {
    reason: 'an empty jobId means an automatic one; BullMQ keeps the empty text in opts',
    level(bullmq) {
      const met = jobsOf(bullmq).filter(({ value }) => value.opts.jobId === '');
      for (const key of met) delete key.value.opts.jobId;
      return met.length > 0;
    },
  },
  delayMarkerAfterFetch: {
    reason:
      'a job that is delayed in a call that also fetches leaves no delay marker in BullMQ, so other idle workers ' +
      'learn of it only at their next poll; we leave the marker',
    level(bullmq, yoke) {
      let isMet = false;
      for (const suffix of Object.keys(yoke).filter((name) => name.endsWith(':marker'))) {
        const marker = yoke[suffix] as ComparedKey;
        const theirs = bullmq[suffix]?.value ?? [];
        if (has(theirs, '1') || !has(marker.value, '1')) continue;
        marker.value = marker.value.filter(([member]: [string, number]) => member !== '1');
        if (marker.value.length === 0) delete yoke[suffix];
        isMet = true;
      }
      return isMet;
    },
  },
  leaseLeftBehind: {
    reason:
      'moveToDelayed and moveToWait without a token leave the lock behind in BullMQ; we use the token of the job',
    level(bullmq, yoke) {
      let isMet = false;
      for (const suffix of Object.keys(bullmq).filter((name) => name.endsWith(':lock') && !(name in yoke))) {
        delete bullmq[suffix];
        isMet = true;
      }
      return isMet;
    },
  },
  wholeMilliseconds: {
    reason:
      'BullMQ stores fractions of milliseconds in fields, scores and events; we round them where they enter',
    level(bullmq) {
      const round = (text: string) => String(Math.round(Number(text)));
      let isMet = false;
      for (const key of jobsOf(bullmq)) {
        for (const field of ['delay', 'timestamp'] as const) {
          const whole = round(key.value[field]);
          isMet ||= whole !== key.value[field];
          key.value[field] = whole;
        }
      }
      for (const [suffix, key] of Object.entries(bullmq)) {
        if (suffix.endsWith(':delayed'))
          key.value = key.value.map(([id, score]: [string, number]) => [id, Math.round(score / 4096) * 4096]);
        if (suffix.endsWith(':marker'))
          key.value = key.value.map(([id, score]: [string, number]) => [id, Math.round(score)]);
        if (suffix.endsWith(':events'))
          key.value = key.value.map((row: string[]) =>
            row[1] === 'delayed' ? [...row.slice(0, 5), round(row[5]!)] : row,
          );
      }
      return isMet;
    },
  },
  retentionAfterEvents: {
    reason:
      'retention runs once per call, after the events of all finishes; BullMQ trims before the event of each. A parent ' +
      'that an expired child releases is announced a line later',
    level(bullmq, yoke) {
      let isMet = false;
      for (const [suffix, key] of Object.entries(bullmq).filter(([name]) => name.endsWith(':events'))) {
        const ours = yoke[suffix] as ComparedKey;
        const isRelease = (row: string[]) => row.includes('waiting-children') && row[1] === 'waiting';
        isMet ||= JSON.stringify(ours.value) !== JSON.stringify(key.value);
        for (const space of [key, ours]) {
          const rows = space.value as string[][];
          space.value = [...rows.filter((row) => !isRelease(row)), ...rows.filter(isRelease)];
        }
      }
      return isMet;
    },
  },
  promoteJobsResetsDelay: {
    reason:
      'promoteJobs leaves the delay field in BullMQ, as if the promoted job were still delayed; we set it to 0 as promote does',
    level(bullmq, yoke) {
      return fieldFollows(bullmq, yoke, 'delay', '0');
    },
  },
  bulkKeepsPriority: {
    reason:
      'retryJobs and promoteJobs put prioritized jobs into the plain list in BullMQ, while retry and promote keep their priority; we always keep it',
    level(bullmq, yoke) {
      let isMet = false;
      for (const [suffix, list] of Object.entries(bullmq).filter(([name]) => name.endsWith(':wait'))) {
        const root = suffix.slice(0, -':wait'.length);
        const ours = yoke[`${root}:prioritized`]?.value ?? [];
        for (const [id] of ours as [string, number][]) {
          if (!list.value.includes(id)) continue;
          list.value = list.value.filter((member: string) => member !== id);
          delete yoke[`${root}:prioritized`];
          delete yoke[`${root}:pc`];
          delete bullmq[`${root}:pc`];
          isMet = true;
        }
      }
      return isMet;
    },
  },
  markerForGivenBack: {
    reason:
      'a prioritized job that is given back leaves no marker in BullMQ, so that idle workers sleep on; we leave one',
    level(bullmq, yoke) {
      let isMet = false;
      for (const suffix of Object.keys(yoke).filter(
        (name) => name.endsWith(':marker') && !(name in bullmq),
      )) {
        if (JSON.stringify(yoke[suffix]?.value) !== '[["0",0]]') continue;
        delete yoke[suffix];
        isMet = true;
      }
      return isMet;
    },
  },
  obliterateTakesAll: {
    reason:
      'obliterate leaves waiting parents, with their records, and the rate limit behind in BullMQ, although nothing of the ' +
      'queue is left that could ever release them; we remove them',
    level(bullmq, yoke) {
      const left = /^other:(limiter|waiting-children|parent|parent:dependencies)$/;
      const met = Object.keys(bullmq).filter(
        (suffix) => left.test(suffix) && !('other:meta' in bullmq) && !(suffix in yoke),
      );
      for (const suffix of met) delete bullmq[suffix];
      return met.length > 0;
    },
  },
  parkedPriority: {
    reason:
      'a job that an older client parked in the paused list keeps its place in BullMQ when its priority changes; we move it',
    level(bullmq, yoke) {
      const [parked] = bullmq['main:paused']?.value ?? [];
      const [[moved] = []] = yoke['main:prioritized']?.value ?? [];
      if (!parked || parked !== moved) return false;
      delete bullmq['main:paused'];
      delete yoke['main:prioritized'];
      delete yoke['main:pc'];
      return true;
    },
  },
  drainKeepsScheduled: {
    reason:
      'drain cuts as many ids off the list as it removed jobs in BullMQ; around a scheduled job that leaves an id without a ' +
      'record and loses the scheduled one. We remove exactly the drained ids',
    level(bullmq, yoke) {
      const theirs = bullmq['main:wait']?.value ?? [];
      const ours = yoke['main:wait']?.value ?? [];
      const isSlip = theirs.length === 1 && !(`main:${theirs[0]}` in bullmq) && `main:${ours[0]}` in yoke;
      if (isSlip) bullmq['main:wait']!.value = ours;
      return isSlip;
    },
  },
  noGhosts: {
    reason:
      'BullMQ brings an id without a record to life as an empty job and hands it to the worker; we drop the id',
    level(bullmq, yoke) {
      const active = bullmq['main:active']?.value ?? [];
      const ghosts = active.filter((id: string) => !bullmq[`main:${id}`]?.value.name);
      for (const id of ghosts) {
        delete bullmq[`main:${id}`];
        delete bullmq[`main:${id}:lock`];
        const events = bullmq['main:events'] as ComparedKey;
        events.value = events.value.filter((row: string[]) => row[1] !== 'active' || row[3] !== id);
      }
      if (ghosts.length > 0 && ghosts.length === active.length && !('main:active' in yoke))
        delete bullmq['main:active'];
      return ghosts.length > 0;
    },
  },
} satisfies Record<string, Tolerated>;

/** What BullMQ takes and then stores wrong; we refuse it before anything is written. */
export const refusedByYoke: Record<string, { reason: string; step: (side: Side) => Promise<unknown> }> = {
  'a negative priority': {
    reason: 'its score sorts it outside of every band, and getCountsPerPriority never finds it',
    step: (side) => side.queue().add('job', {}, { priority: -1 }),
  },
  'a changed priority out of range': {
    reason: 'scores above 2^53 are no longer exact, so the order within the priority is lost',
    step: async (side) => (await side.job('there')).changePriority({ priority: 2_097_152 }),
  },
  'an id that is a word of the wire': {
    reason: 'the record overwrites a collection of the queue, or makes it unreadable',
    step: (side) => side.queue().add('job', {}, { jobId: 'limiter' }),
  },
};

/** Sets the field to the value on both sides where only Yoke has that value; says whether it was needed. */
function fieldFollows(bullmq: Space, yoke: Space, field: string, value: string): boolean {
  let isMet = false;
  for (const [suffix, key] of Object.entries(yoke)) {
    const theirs = bullmq[suffix];
    if (theirs?.type !== 'hash' || key.value[field] !== value || theirs.value[field] === value) continue;
    theirs.value[field] = value;
    isMet = true;
  }
  return isMet;
}

function jobsOf(space: Space): ComparedKey[] {
  return Object.values(space).filter(({ type, value }) => type === 'hash' && 'timestamp' in value);
}

function has(pairs: [string, number][], member: string): boolean {
  return pairs.some(([name]) => name === member);
}

export type ToleratedName = keyof typeof tolerated;
