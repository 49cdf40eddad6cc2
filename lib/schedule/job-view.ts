import type { DeadReason, StoredError } from '../job.js';
import type { DeadLetterRecord, JobState, Page, StoredJob } from '../providers/delay-queue.provider.js';
import type { PayloadCodec } from './payload-codec.js';

/** A stored job, its payload decoded. Instants are epoch ms, by the provider's clock. */
export interface JobView {
  readonly id: string;
  readonly topic: string;
  readonly payload: unknown;
  readonly state: JobState;
  readonly dueAt: number;
  readonly scheduledAt: number;
  /** Attempts begun so far. */
  readonly attempt: number;
  /** Of a job in flight. */
  readonly leaseExpiresAt: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Of the latest failed attempt. */
  readonly lastError: StoredError | undefined;
}

/** A job that was given up, its payload decoded. Instants are epoch ms, by the provider's clock. */
export interface DeadLetter {
  /** Names this dead letter; a job id can die more than once. */
  readonly deadLetterId: string;
  readonly id: string;
  readonly topic: string;
  /** `undefined` when `reason` is `unreadable`; see `encodedPayload`. */
  readonly payload: unknown;
  /** As the store keeps it. */
  readonly encodedPayload: string;
  readonly reason: DeadReason | undefined;
  readonly attempts: number;
  /** Due time of the first attempt. */
  readonly dueAt: number;
  readonly scheduledAt: number;
  readonly diedAt: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly lastError: StoredError | undefined;
}

export function toJobView({ extras, payload, ...facts }: StoredJob, codec: PayloadCodec): JobView {
  return {
    ...facts,
    payload: decodeIfReadable(codec, payload),
    headers: { ...extras?.headers },
    lastError: extras?.lastError && { ...extras.lastError },
  };
}

export function toDeadLetter(record: DeadLetterRecord, codec: PayloadCodec): DeadLetter {
  const { extras, payload, dueAt, ...facts } = record;
  return {
    ...facts,
    payload: decodeIfReadable(codec, payload),
    encodedPayload: payload,
    reason: extras?.deadReason,
    dueAt: extras?.firstDueAt ?? dueAt,
    headers: { ...extras?.headers },
    lastError: extras?.lastError && { ...extras.lastError },
  };
}

export function mapPage<From, To>({ items, cursor }: Page<From>, map: (item: From) => To): Page<To> {
  return { items: items.map(map), cursor };
}

/** A view must be had of a job nobody can run, too. */
function decodeIfReadable(codec: PayloadCodec, payload: string): unknown {
  try {
    return codec.decode('', '', payload);
  } catch {
    return undefined;
  }
}
