import type { Clock } from '../clock.js';
import type { JobExtras } from '../job.js';

/** What to do when a pending job of the same id is already there. A job in flight no longer holds its id. */
export type IfExists = 'keep' | 'replace' | 'reject';

/**
 * When a job is due: `at` if it is given (epoch ms; a past instant means at once), else `delayMs` from the provider's
 * now. Both are whole, finite and checked by the caller.
 */
export interface DueTime {
  readonly delayMs: number;
  readonly at: number | undefined;
}

export interface NewJob extends DueTime {
  /** Unique among the topic's pending jobs. */
  readonly id: string;
  /** Encoded; a provider never looks inside. */
  readonly payload: string;
  readonly ifExists: IfExists;
  /** With `replace`: the due time never moves past this long after the id was first scheduled, ms. */
  readonly maxWaitMs: number | undefined;
  readonly extras: JobExtras | undefined;
}

/**
 * `scheduled`: a new job. `kept`: the pending job stays as it was. `replaced`: payload, due time and extras are the new
 * ones, the attempts are counted from zero. `exists`: refused by `ifExists: 'reject'`. `full`: refused by the bound on
 * the backlog.
 */
export interface AddResult {
  /** As given. */
  readonly id: string;
  readonly status: 'scheduled' | 'kept' | 'replaced' | 'exists' | 'full';
  /** Due time of the job that is stored under the id now, epoch ms; of no meaning with `full`. */
  readonly dueAt: number;
}

export interface CancelRequest {
  readonly id: string;
  /** Ask the instance that runs the job to abort its signal. Without it a running job ends as it likes. */
  readonly abort: boolean;
}

/**
 * `cancelled`: was pending, is gone, the id is free. `in-flight`: it runs; that run may end, but no other follows it,
 * neither as a retry nor after a lost lease. `unknown`: no such job, and no later effect.
 */
export type CancelStatus = 'cancelled' | 'in-flight' | 'unknown';

export interface MoveRequest extends DueTime {
  readonly id: string;
}

/** `rescheduled`: the pending job is due at the new time. `in-flight`, `unknown`: nothing changed. */
export type RescheduleStatus = 'rescheduled' | 'in-flight' | 'unknown';

/** A token bucket shared by all instances: `limit` claims per `perMs`, at most `burst` at once. */
export interface RateLimit {
  readonly limit: number;
  readonly perMs: number;
  readonly burst: number;
}

export interface ClaimRequest {
  /** At most this many jobs; a whole number from 1. */
  readonly limit: number;
  readonly leaseMs: number;
  /**
   * At most this many leases on the topic over all instances. Leases that expired do not count; what they held is taken
   * over in due order, as any due job.
   */
  readonly maxInFlight?: number;
  readonly rate?: RateLimit;
}

/** The right to run and settle one job. */
export interface LeaseRef {
  readonly id: string;
  /** Rises with each claim on the topic; a settle or renewal with another token than the latest is stale. */
  readonly token: number;
}

export interface Claim extends LeaseRef {
  readonly payload: string;
  /** Counted from 1, this claim included. */
  readonly attempt: number;
  /** Epoch ms. Of a job whose lease expired: the due time of the attempt that was lost. */
  readonly dueAt: number;
  readonly scheduledAt: number;
  /** The provider's now minus the due time at the moment of the claim, ms; at least 0. */
  readonly lateMs: number;
  readonly extras: JobExtras | undefined;
}

export interface ClaimResult {
  /** In due order, then in the order of scheduling. */
  readonly claims: readonly Claim[];
  /**
   * How long until another claim can succeed, ms: 0 when more is due already, -1 when only a wake signal can change
   * that. May be shorter than the truth, never longer.
   */
  readonly nextWakeInMs: number;
}

export type Settlement =
  | (LeaseRef & { readonly outcome: 'complete' })
  /**
   * Pending again, due `delayMs` from now, with these extras. A job cancelled in flight is removed instead. If another
   * job took the id meanwhile, both stay; the id then names the other one.
   */
  | (LeaseRef & {
      readonly outcome: 'retry';
      readonly delayMs: number;
      readonly extras: JobExtras | undefined;
    })
  /** Kept among the dead letters with these extras. */
  | (LeaseRef & { readonly outcome: 'dead-letter'; readonly extras: JobExtras | undefined })
  /** Pending again at the due time it had, the attempt not counted. */
  | (LeaseRef & { readonly outcome: 'release' });

/** `lease-lost`: the token is stale or the job is gone; nothing changed. */
export type SettleStatus = 'settled' | 'lease-lost';

/** `abort`: renewed, and someone cancelled the job with `abort`. */
export type RenewStatus = 'renewed' | 'abort' | 'lease-lost';

export type JobState = 'pending' | 'in-flight';

export interface StoredJob {
  readonly id: string;
  readonly topic: string;
  readonly payload: string;
  readonly state: JobState;
  /** Epoch ms; of a job in flight, the due time it was claimed for. */
  readonly dueAt: number;
  readonly scheduledAt: number;
  /** Attempts begun so far; 0 before the first claim. */
  readonly attempt: number;
  /** Of a job in flight: when its lease ends unless it is renewed, epoch ms. */
  readonly leaseExpiresAt: number | undefined;
  readonly extras: JobExtras | undefined;
}

export interface FindQuery {
  readonly state: JobState;
  /** Earliest and latest due time, epoch ms, both included; absent means open. */
  readonly dueFrom?: number;
  readonly dueTo?: number;
  /** At most this many jobs, from 1. */
  readonly limit: number;
  /** From an earlier page. */
  readonly cursor?: string;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Give it back to read on; absent after the last page. */
  readonly cursor: string | undefined;
}

export interface TopicCounts {
  /** Waiting jobs, due ones included; jobs whose lease expired count here. */
  readonly pending: number;
  /** Pending jobs whose due time is past. */
  readonly due: number;
  /** Age of the oldest due job past its due time, ms; 0 when none is due. */
  readonly headAgeMs: number;
  /** Jobs under a lease that has not expired, over all instances. */
  readonly inFlight: number;
  readonly dead: number;
  readonly paused: boolean;
}

export interface DeadLetterRecord {
  /** Names this dead letter; unlike the job's id it is unique for ever. */
  readonly deadLetterId: string;
  readonly id: string;
  readonly topic: string;
  readonly payload: string;
  readonly attempts: number;
  readonly dueAt: number;
  readonly scheduledAt: number;
  readonly diedAt: number;
  readonly extras: JobExtras | undefined;
}

/** How many dead letters are kept, per topic; the oldest go first. */
export interface DeadLetterRetention {
  readonly maxCount: number;
  readonly maxAgeMs: number;
}

/** Which dead letters to remove; both given means either. */
export interface DeadLetterPurge {
  readonly olderThanMs?: number;
  readonly keepNewest?: number;
}

/** Which optional promises of the interface a provider keeps. The conformance suite prints what it skips. */
export interface ProviderFeatures {
  /** Jobs survive the end of every process that uses them. */
  readonly durable: boolean;
  /** Jobs due at the same millisecond are claimed in the order of scheduling. */
  readonly fifoWithinDueTime: boolean;
  /** The most jobs that can wait at once, over all topics; `add` answers `full` past it. */
  readonly maxPending: number | undefined;
  /** How often to claim although nobody woke: wake signals can be lost, ms. `undefined` where they cannot. */
  readonly recheckMs: number | undefined;
}

/** What a provider is given when it is opened. */
export interface ProviderContext {
  readonly clock: Clock;
  /** Of the queue; providers that share a store keep their queues apart by it. */
  readonly queueName: string;
  readonly deadLetters: DeadLetterRetention;
  /** Tells of something an operator should know and no caller is waiting for, such as dead letters dropped by retention. */
  readonly report: (notice: ProviderNotice) => void;
}

export type ProviderNotice =
  | { readonly type: 'dead-letters-dropped'; readonly topic: string; readonly count: number }
  /** Jobs whose records could not be read: garbage, or of a later version. Each is a dead letter now. */
  | { readonly type: 'jobs-set-aside'; readonly topic: string; readonly count: number }
  /** The store works, but not as it should for a queue. */
  | { readonly type: 'provider-warning'; readonly message: string }
  | { readonly type: 'provider-lost'; readonly error: Error }
  | { readonly type: 'provider-recovered' };

/**
 * A store of jobs that keeps them in due order and hands out due ones under leases.
 *
 * Everything is asked for one topic at a time and in batches; a batch is answered in its own order, one answer an
 * item. Each item is atomic; a batch need not be. After `close`, and before `open`, every method rejects with
 * `ProviderClosedError`. When the store cannot be reached, methods reject with `StoreUnavailableError` within a bounded
 * time; the operation may then have been applied, and repeating it with the same ids and tokens is harmless.
 *
 * One clock decides what is due: the provider's own. Callers pass durations and get durations back.
 */
export interface DelayQueueProvider {
  readonly features: ProviderFeatures;

  open(context: ProviderContext): Promise<void>;
  /** Idempotent; leaves no timer and no socket. */
  close(): Promise<void>;

  add(topic: string, jobs: readonly NewJob[]): Promise<readonly AddResult[]>;
  cancel(topic: string, requests: readonly CancelRequest[]): Promise<readonly CancelStatus[]>;
  reschedule(topic: string, moves: readonly MoveRequest[]): Promise<readonly RescheduleStatus[]>;

  /**
   * Takes due jobs, each under a lease of `leaseMs` and a token of its own. A lease is the job's next due time: when
   * it expires the job is due again and the next claim takes it over. A job is never claimed before it is due.
   */
  claim(topic: string, request: ClaimRequest): Promise<ClaimResult>;
  /**
   * Ends leases. A lease that has expired but was not taken over can still be settled: its token is still the latest.
   */
  settle(topic: string, settlements: readonly Settlement[]): Promise<readonly SettleStatus[]>;
  /** Moves the expiry of leases to `leaseMs` from now. The same holds for expired leases as with `settle`. */
  renew(topic: string, leases: readonly LeaseRef[], leaseMs: number): Promise<readonly RenewStatus[]>;

  /**
   * Calls `listener` when a claim could succeed earlier than the last `claim` of this topic foretold: a new head, a
   * resumed topic, a freed slot of `maxInFlight`. A hint: it may come twice, or be lost with a link.
   * @returns a function that takes the listener away
   */
  onWake(topic: string, listener: () => void): () => void;

  /**
   * Calls `listener` with a lease whose job was cancelled with `abort`. A hint that spares the wait for the next
   * renewal, which answers `abort` for certain.
   * @returns a function that takes the listener away
   */
  onAbort(topic: string, listener: (lease: LeaseRef) => void): () => void;

  /** The job that holds the id: a pending one, else one in flight. */
  get(topic: string, id: string): Promise<StoredJob | undefined>;
  /** In due order, then in the order of scheduling. */
  find(topic: string, query: FindQuery): Promise<Page<StoredJob>>;
  counts(topic: string): Promise<TopicCounts>;
  /** Every topic that holds a job, a dead letter or a setting. */
  topics(): Promise<readonly string[]>;
  /** A paused topic hands out nothing, over all instances; its jobs keep their due times. */
  setPaused(topic: string, paused: boolean): Promise<void>;

  /** Oldest first. */
  listDead(
    topic: string,
    query: { readonly limit: number; readonly cursor?: string },
  ): Promise<Page<DeadLetterRecord>>;
  getDead(topic: string, deadLetterId: string): Promise<DeadLetterRecord | undefined>;
  /** @returns how many there were */
  removeDead(topic: string, deadLetterIds: readonly string[]): Promise<number>;
  /** @returns how many were removed */
  purgeDead(topic: string, purge: DeadLetterPurge): Promise<number>;

  /** Small facts about a topic that all instances share, such as its recurring schedules. */
  readSettings(topic: string): Promise<Readonly<Record<string, string>>>;
  /** `undefined` removes the setting. */
  writeSetting(topic: string, name: string, value: string | undefined): Promise<void>;
}
