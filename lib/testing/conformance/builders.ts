import type { JobExtras } from '../../job.js';
import type { LeaseRef, NewJob, Settlement } from '../../providers/delay-queue.provider.js';

export const TOPIC = 'order.expire';
export const LEASE_MS = 30_000;
export const DAY_MS = 86_400_000;

/** A plain job, due at once. */
export function aJob(fields: Partial<NewJob> = {}): NewJob {
  return {
    id: 'job-1',
    payload: '{"orderId":1}',
    delayMs: 0,
    at: undefined,
    ifExists: 'keep',
    maxWaitMs: undefined,
    extras: undefined,
    ...fields,
  };
}

/** Jobs `job-0`, `job-1` and so on, each with a payload of its own. */
export function manyJobs(count: number, fields: (index: number) => Partial<NewJob> = () => ({})): NewJob[] {
  return Array.from({ length: count }, (_, index) =>
    aJob({ id: `job-${index}`, payload: `${index}`, ...fields(index) }),
  );
}

/** Parsed, since a literal would set the prototype instead of a key of that name. */
const ODD_HEADERS = JSON.parse(
  '{"":"empty","trace":"00-ß-🚀","__proto__":"plain","constructor":""}',
) as Readonly<Record<string, string>>;

/** Extras with every kind of value a provider must give back as it was, the empty ones included. */
export function richExtras(fields: JobExtras = {}): JobExtras {
  return {
    headers: ODD_HEADERS,
    maxAttempts: 5,
    backoff: { type: 'list', delaysMs: [], jitter: 0.2 },
    timeoutMs: 1500,
    ...fields,
  };
}

export const complete = ({ id, token }: LeaseRef): Settlement => ({ id, token, outcome: 'complete' });

export const release = ({ id, token }: LeaseRef): Settlement => ({ id, token, outcome: 'release' });

export const retry = ({ id, token }: LeaseRef, delayMs = 0, extras?: JobExtras): Settlement => ({
  id,
  token,
  outcome: 'retry',
  delayMs,
  extras,
});

export const deadLetter = ({ id, token }: LeaseRef, extras?: JobExtras): Settlement => ({
  id,
  token,
  outcome: 'dead-letter',
  extras,
});

/** Every way to end a lease. */
export const everySettlement = (lease: LeaseRef): readonly Settlement[] => [
  complete(lease),
  retry(lease),
  deadLetter(lease),
  release(lease),
];
