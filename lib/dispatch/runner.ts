import type { Clock } from '../clock.js';
import { JobTimeoutError } from '../delay-queue.errors.js';
import type { DeadReason, JobExtras } from '../job.js';
import type { HandlerRegistration } from '../handlers/handler-registry.js';
import type { Claim, Settlement } from '../providers/delay-queue.provider.js';
import type { RecurringSchedules } from '../recurring/recurring-schedules.js';
import type { PayloadCodec } from '../schedule/payload-codec.js';
import type { AttemptOptions } from '../topic-options.js';
import { sleep, withDeadline } from './deadline.js';
import type { ProviderLink } from './provider-link.js';
import { judgeFailure, toStoredError } from './retry-policy.js';
import type { Run } from './run.js';

/** How a run ended: what to settle, and what there is to tell about it. */
export type RunOutcome =
  | { readonly type: 'completed'; readonly durationMs: number; readonly settlement: Settlement }
  | {
      readonly type: 'retried';
      readonly delayMs: number;
      readonly error: unknown;
      readonly settlement: Settlement;
    }
  | {
      readonly type: 'dead-lettered';
      readonly reason: DeadReason;
      readonly error: unknown;
      readonly settlement: Settlement;
    }
  | { readonly type: 'expired' | 'skipped' | 'released'; readonly settlement: Settlement };

/** Handed back unrun. */
export function released({ claim }: Run): RunOutcome {
  return { type: 'released', settlement: { ...leaseOf(claim), outcome: 'release' } };
}

const FOLLOW = 'schedule the next occurrence';

/** Runs one claimed job of one topic and decides what becomes of it. Never rejects. */
export class Runner {
  constructor(
    private readonly handler: HandlerRegistration,
    private readonly codec: PayloadCodec,
    private readonly clock: Clock,
    private readonly recurring: RecurringSchedules,
    private readonly link: ProviderLink,
  ) {}

  async run(run: Run, lateMs: number): Promise<RunOutcome> {
    const { claim } = run;
    const options = this.optionsOf(claim.extras);
    try {
      // Before anything can go wrong with this occurrence, and only then waited for: a plain job starts in this turn.
      if (claim.extras?.recurrence !== undefined && !(await this.follow(run))) {
        return { type: 'skipped', settlement: { ...leaseOf(claim), outcome: 'complete' } };
      }
      const refused = this.refuse(run, lateMs, options);
      if (refused) return refused;

      run.latenessMs = lateMs;
      const startedAtMs = this.clock.now();
      await this.call(run, options.timeoutMs);
      const durationMs = this.clock.now() - startedAtMs;
      // Written out: this is what most jobs come to, and a spread would be the dearest step of it.
      const settlement: Settlement = { id: claim.id, token: claim.token, outcome: 'complete' };
      return { type: 'completed', durationMs, settlement };
    } catch (error) {
      return this.fail(run, error, options);
    }
  }

  /** The attempts the job may take: those stored with it, else the topic's. */
  maxAttemptsOf(claim: Claim): number {
    return claim.extras?.maxAttempts ?? this.handler.options.maxAttempts;
  }

  /**
   * Schedules the occurrence after this one, however often it takes: without it the schedule would end here, and that the
   * store is away is no fault of the job.
   * @returns whether this one is to run
   */
  private async follow(run: Run): Promise<boolean> {
    for (;;) {
      try {
        const isWanted = await this.recurring.follow(run.topic, run.claim);
        this.link.works(FOLLOW);
        return isWanted;
      } catch (error) {
        const waitMs = this.link.failed(FOLLOW, error);
        await sleep(waitMs, this.clock, run.signal);
        if (run.aborted) throw error;
      }
    }
  }

  /** What ends a job before its handler is called. */
  private refuse(run: Run, lateMs: number, options: AttemptOptions): RunOutcome | undefined {
    const { claim } = run;
    if (claim.attempt > options.maxAttempts) {
      const error = new Error(
        `Attempt ${claim.attempt} of ${options.maxAttempts}: the attempts before it ended without an outcome, as when a process dies.`,
      );
      return this.bury(run, 'crashed', error);
    }
    if (isExpired(claim, lateMs, options.expiresAfterMs)) {
      if (options.onExpiry === 'dead-letter') return this.bury(run, 'expired', undefined);
      return { type: 'expired', settlement: { ...leaseOf(claim), outcome: 'complete' } };
    }
    try {
      run.payload = this.codec.decode(run.topic, claim.id, claim.payload);
    } catch (error) {
      return this.bury(run, 'unreadable', error);
    }
    return undefined;
  }

  private async call(run: Run, timeoutMs: number | undefined): Promise<void> {
    const handling = this.handler.invoke(run.payload, run);
    if (timeoutMs === undefined) {
      await handling;
      return;
    }
    await withDeadline(handling, timeoutMs, this.clock, () => {
      const error = new JobTimeoutError(run.topic, run.id, timeoutMs);
      run.abort(error);
      throw error;
    });
  }

  private fail(run: Run, error: unknown, options: AttemptOptions): RunOutcome {
    const { claim } = run;
    const verdict = judgeFailure(error, claim.attempt, options);
    if (verdict.outcome === 'dead-letter') return this.bury(run, verdict.reason, error);
    const { delayMs } = verdict;
    const extras: JobExtras = {
      ...claim.extras,
      firstDueAt: claim.extras?.firstDueAt ?? claim.dueAt,
      ...(claim.extras?.recurrence !== undefined && { followed: true }),
      lastError: toStoredError(error),
    };
    const settlement: Settlement = { ...leaseOf(claim), outcome: 'retry', delayMs, extras };
    return { type: 'retried', delayMs, error, settlement };
  }

  private bury(run: Run, reason: DeadReason, error: unknown): RunOutcome {
    const { claim } = run;
    const extras: JobExtras = {
      ...claim.extras,
      deadReason: reason,
      ...(error !== undefined && reason !== 'expired' && { lastError: toStoredError(error) }),
    };
    const settlement: Settlement = { ...leaseOf(claim), outcome: 'dead-letter', extras };
    return { type: 'dead-lettered', reason, error, settlement };
  }

  private optionsOf(extras: JobExtras | undefined): AttemptOptions {
    const { options } = this.handler;
    if (!extras) return options;
    return {
      maxAttempts: extras.maxAttempts ?? options.maxAttempts,
      backoff: extras.backoff ?? options.backoff,
      timeoutMs: extras.timeoutMs ?? options.timeoutMs,
      expiresAfterMs: extras.expiresAfterMs ?? options.expiresAfterMs,
      onExpiry: extras.onExpiry ?? options.onExpiry,
    };
  }
}

/** Counted from the due time of the first attempt: a retry does not make an unwanted job wanted again. */
function isExpired(claim: Claim, lateMs: number, expiresAfterMs: number | undefined): boolean {
  if (expiresAfterMs === undefined) return false;
  const firstDueAt = claim.extras?.firstDueAt ?? claim.dueAt;
  return claim.dueAt - firstDueAt + lateMs > expiresAfterMs;
}

function leaseOf({ id, token }: Claim): { readonly id: string; readonly token: number } {
  return { id, token };
}
