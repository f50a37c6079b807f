// A group as it is sent: its members as jobs, and for each compensation the texts between which the member's id and
// result are put when it has to be undone. Payloads are encoded once, here.

import { encodeAdd } from '../core/job-adding.ts';
import type { ResolvedGroupOptions } from '../model/options/group-options.ts';
import { encodeOptions } from '../store/codec.ts';
import type { NewGroup } from '../store/group-batch.ts';

// Where the server puts an id that it gives out itself; no JSON text contains it.
const AUTOMATIC_ID = '"\0"';

export function encodeGroup(
  group: ResolvedGroupOptions,
  groupId: string,
  rootOf: (queueName: string) => string,
): NewGroup {
  const membership = { id: groupId, name: group.name };
  return {
    groupId,
    name: group.name,
    compensation: group.mapping,
    isReverse: group.isReverse,
    timeoutMs: group.timeoutMs,
    mappings: group.compensations.map(({ name, data, stored, onFailed }) => ({
      name,
      tail: `,"compensationData":${data}}`,
      opts: `${encodeOptions({ ...stored, attempts: stored.attempts ?? 0, group: membership } as never).slice(0, -1)},"jobId":"${groupId}-`,
      onFailed,
    })),
    members: group.jobs.map(({ name, queueName, data, options, compensation }) => ({
      member: {
        root: rootOf(queueName),
        mapping: compensation + 1,
        // What is never undone needs none.
        head: compensation < 0 ? '' : headOf(groupId, name, options.jobId),
      },
      add: encodeAdd(name, data, { ...options, stored: { ...options.stored, group: membership } }),
    })),
  };
}

function headOf(groupId: string, jobName: string, jobId: string): string {
  const id = jobId === '' ? AUTOMATIC_ID : JSON.stringify(jobId);
  return `{"groupId":${JSON.stringify(groupId)},"originalJobName":${JSON.stringify(jobName)},"originalJobId":${id},"originalReturnValue":`;
}
