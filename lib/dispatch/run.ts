import type { Job } from '../job.js';
import type { Claim } from '../providers/delay-queue.provider.js';

/**
 * One claimed job while it runs, as the handler sees it. What a handler may know are fields of its own, so that the job
 * can be logged and copied; what the dispatcher keeps about it is not.
 */
export class Run implements Job {
  readonly id: string;
  readonly attempt: number;
  readonly dueAt: number;
  readonly scheduledAt: number;
  readonly token: number;
  /** A copy: what the handler does to it must not reach the retries. */
  readonly headers: Readonly<Record<string, string>>;
  payload: unknown = undefined;
  latenessMs = 0;
  readonly #claim: Claim;
  #leasedAtMs: number;
  #leaseLost = false;
  #settling = false;
  #controller: AbortController | undefined;

  /** @param leasedAtMs when the claim was asked for: the lease lasts at least from here; monotonic ms */
  constructor(
    readonly topic: string,
    claim: Claim,
    readonly maxAttempts: number,
    leasedAtMs: number,
  ) {
    this.id = claim.id;
    this.attempt = claim.attempt;
    this.dueAt = claim.dueAt;
    this.scheduledAt = claim.scheduledAt;
    this.token = claim.token;
    this.headers = { ...claim.extras?.headers };
    this.#claim = claim;
    this.#leasedAtMs = leasedAtMs;
  }

  /** Made when it is asked for: most handlers never do, and it costs more than the rest of a run. */
  get signal(): AbortSignal {
    return (this.#controller ??= new AbortController()).signal;
  }

  get claim(): Claim {
    return this.#claim;
  }

  get leasedAtMs(): number {
    return this.#leasedAtMs;
  }

  /** The lease is gone: whatever the handler returns no longer counts. */
  get leaseLost(): boolean {
    return this.#leaseLost;
  }

  /** The outcome is on its way: whatever becomes of the lease now, the answer to that will tell. */
  get settling(): boolean {
    return this.#settling;
  }

  set settling(isSettling: boolean) {
    this.#settling = isSettling;
  }

  get aborted(): boolean {
    return this.#controller?.signal.aborted ?? false;
  }

  abort(reason: Error): void {
    this.#controller ??= new AbortController();
    this.#controller.abort(reason);
  }

  /** @param atMs when the renewal was asked for */
  renewed(atMs: number): void {
    this.#leasedAtMs = atMs;
  }

  loseLease(reason: Error): void {
    this.#leaseLost = true;
    this.abort(reason);
  }
}
