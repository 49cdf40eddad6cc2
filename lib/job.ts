/** What a failed attempt left behind. Bounded, so that a job failing for ever does not grow. */
export interface StoredError {
  readonly name: string;
  /** At most 1 000 characters. */
  readonly message: string;
  /** At most 4 000 characters. */
  readonly stack?: string;
}

/** How long to wait before the next attempt; see `BackoffOptions` for what each kind means. All times in ms. */
export type Backoff =
  | { readonly type: 'fixed'; readonly delayMs: number; readonly jitter: number }
  | {
      readonly type: 'exponential';
      readonly delayMs: number;
      readonly factor: number;
      readonly maxMs: number;
      readonly jitter: number;
    }
  | { readonly type: 'list'; readonly delaysMs: readonly number[]; readonly jitter: number };

/** What to do with a job whose `expiresAfter` has passed before it could start. */
export type OnExpiry = 'drop' | 'dead-letter';

/**
 * Everything about a job that a provider keeps without looking inside: JSON values only, so that memory and Redis keep
 * the same. Absent as a whole for a plain job, which costs nothing.
 */
export interface JobExtras {
  readonly headers?: Readonly<Record<string, string>>;
  readonly maxAttempts?: number;
  readonly backoff?: Backoff;
  readonly timeoutMs?: number;
  readonly expiresAfterMs?: number;
  readonly onExpiry?: OnExpiry;
  /** Of an occurrence of a recurring schedule: which one, see `RecurringSchedules`. */
  readonly recurrence?: string;
  /** Its successor is scheduled; set by the first retry of an occurrence. */
  readonly followed?: boolean;
  /** Due time of the first attempt, epoch ms; set by the first retry, which moves the due time. */
  readonly firstDueAt?: number;
  /** The error of the latest failed attempt. */
  readonly lastError?: StoredError;
  /** Why the job was given up; on dead letters only. */
  readonly deadReason?: DeadReason;
}

/** Why a job became a dead letter. */
export type DeadReason = 'attempts-exhausted' | 'handler-request' | 'expired' | 'crashed' | 'unreadable';

/** What a handler is told about the job it runs. */
export interface Job<Payload = unknown> {
  readonly id: string;
  readonly topic: string;
  readonly payload: Payload;
  /** This attempt, counted from 1. An attempt whose process died counts too. */
  readonly attempt: number;
  /** The attempt after which a failure is final. */
  readonly maxAttempts: number;
  /** The instant from which this attempt may run, epoch ms, by the provider's clock. */
  readonly dueAt: number;
  /** When the job was scheduled, epoch ms, by the provider's clock. */
  readonly scheduledAt: number;
  /** Start of the handler minus `dueAt`, ms with a fraction, measured on monotonic time; never below zero. */
  readonly latenessMs: number;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Fencing token: rises with each claim on the topic. Hand it to other systems so that they can refuse a run whose
   * lease was lost meanwhile.
   */
  readonly token: number;
  /** Aborts when the outcome of this run no longer counts: timeout, lost lease, cancel with `abort`, end of shutdown. */
  readonly signal: AbortSignal;
}
