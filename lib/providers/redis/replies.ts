import type { JobExtras } from '../../job.js';
import type { AddResult, Claim, DeadLetterRecord, NewJob, StoredJob } from '../delay-queue.provider.js';
import { ScriptReplyError } from './script-reply.error.js';
import type { ScriptName } from './scripts.js';

/** A list, or not a reply of ours. */
export function asList(script: ScriptName, reply: unknown): readonly unknown[] {
  if (!Array.isArray(reply)) throw new ScriptReplyError(script, reply);
  return reply;
}

export function asNumber(script: ScriptName, value: unknown): number {
  if (typeof value !== 'number') throw new ScriptReplyError(script, value);
  return value;
}

export function asText(script: ScriptName, value: unknown): string {
  if (typeof value !== 'string') throw new ScriptReplyError(script, value);
  return value;
}

/** One word for each item of a batch, each known. */
export function asWords<Word extends string>(
  script: ScriptName,
  reply: unknown,
  known: readonly Word[],
): readonly Word[] {
  const list = asList(script, reply);
  if (!list.every((word) => known.includes(word as Word))) throw new ScriptReplyError(script, reply);
  return list as readonly Word[];
}

export function decodeAdd(reply: unknown, jobs: readonly NewJob[]): AddResult[] {
  const list = asList('add', reply);
  const [now, nowUp] = [asNumber('add', list[0]), asNumber('add', list[1])];
  const results = jobs.map(({ id, at, delayMs }): AddResult => {
    return { id, status: 'scheduled', dueAt: at ?? (delayMs === 0 ? now : nowUp + delayMs) };
  });
  for (let place = 3; place < list.length; place += 3) {
    const [status] = asWords('add', [list[place + 1]], ['kept', 'replaced', 'exists'] as const);
    const index = asNumber('add', list[place]);
    results[index] = { id: jobs[index]!.id, status: status!, dueAt: asNumber('add', list[place + 2]) };
  }
  return results;
}

export interface DecodedClaim {
  readonly claims: Claim[];
  /** Until another claim can succeed, ms; Infinity when only a hint can tell. */
  readonly waitMs: number;
  readonly isWatcher: boolean;
  readonly setAside: number;
}

export function decodeClaim(reply: unknown, parts: number): DecodedClaim {
  const list = asList('claim', reply);
  const [waitUs, nowUs, watcher, firstToken, setAside] = list
    .slice(0, 5)
    .map((value) => asNumber('claim', value));
  if (setAside === undefined) throw new ScriptReplyError('claim', reply);
  const claims: Claim[] = [];
  let token = firstToken!;
  for (let at = 5; at < list.length; at += 4) {
    const scheduledAt = asNumber('claim', list[at + 2]);
    const isPlain = scheduledAt >= 0;
    const dueAt = Number(list[at + 1]);
    claims.push({
      id: asText('claim', list[at]),
      token,
      payload: asText('claim', list[at + 3]),
      attempt: isPlain ? 1 : asNumber('claim', list[at + 4]),
      dueAt,
      scheduledAt: Math.abs(scheduledAt),
      lateMs: Math.max(0, nowUs! / 1_000 - dueAt),
      extras: isPlain ? undefined : readExtras(asText('claim', list[at + 5])),
    });
    if (!isPlain) at += 2;
    token += parts;
  }
  return { claims, waitMs: waitUs === -1 ? Infinity : waitUs! / 1_000, isWatcher: watcher === 1, setAside };
}

/** Four values: id, facts, payload, extras. */
export function decodeJob(script: 'get' | 'find', topic: string, values: readonly unknown[]): StoredJob {
  const [id, facts, payload, extras] = values.map((value) => asText(script, value));
  const [dueAt, scheduledAt, attempt, leaseExpiresAt] = facts!.split(',');
  return {
    id: id!,
    topic,
    payload: payload!,
    state: leaseExpiresAt ? 'in-flight' : 'pending',
    dueAt: Number(dueAt),
    scheduledAt: Number(scheduledAt),
    attempt: Number(attempt),
    leaseExpiresAt: leaseExpiresAt ? Number(leaseExpiresAt) : undefined,
    extras: readExtras(extras!),
  };
}

/** Five values: number, facts, id, payload, extras. */
export function decodeLetter(topic: string, values: readonly unknown[], part: string): DeadLetterRecord {
  const [number, facts, id, payload, extras] = values.map((value) => asText('dead-list', value));
  const [attempts, dueAt, scheduledAt, diedAt] = facts!.split(',').map(Number);
  return {
    deadLetterId: number! + part,
    id: id!,
    topic,
    payload: payload!,
    attempts: attempts!,
    dueAt: dueAt!,
    scheduledAt: scheduledAt!,
    diedAt: diedAt!,
    extras: readExtras(extras!),
  };
}

/** What someone else wrote there must not keep the job from running. */
function readExtras(text: string): JobExtras | undefined {
  if (text === '') return undefined;
  try {
    return JSON.parse(text) as JobExtras;
  } catch {
    return undefined;
  }
}
