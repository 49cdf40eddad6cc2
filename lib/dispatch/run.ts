import type { Claim } from '../providers/delay-queue.provider.js';
import type { Job } from '../job.js';

/** One claimed job while it runs, as the handler sees it. */
export class Run implements Job {
  payload: unknown;
  latenessMs = 0;
  /** The lease is gone: whatever the handler returns no longer counts. */
  leaseLost = false;
  private controller: AbortController | undefined;
  private headersCopy: Readonly<Record<string, string>> | undefined;

  constructor(
    readonly topic: string,
    readonly claim: Claim,
    readonly maxAttempts: number,
    /** When the claim, or the latest renewal, was asked for: the lease lasts at least from here. Monotonic ms. */
    public leasedAtMs: number,
  ) {}

  get id(): string {
    return this.claim.id;
  }

  get attempt(): number {
    return this.claim.attempt;
  }

  get dueAt(): number {
    return this.claim.dueAt;
  }

  get scheduledAt(): number {
    return this.claim.scheduledAt;
  }

  /** A copy: what the handler does to it must not reach the retries. */
  get headers(): Readonly<Record<string, string>> {
    return (this.headersCopy ??= { ...this.claim.extras?.headers });
  }

  get token(): number {
    return this.claim.token;
  }

  /** Made when it is asked for: most handlers never do, and it costs more than the rest of a run. */
  get signal(): AbortSignal {
    return (this.controller ??= new AbortController()).signal;
  }

  get aborted(): boolean {
    return this.controller?.signal.aborted ?? false;
  }

  abort(reason: Error): void {
    this.controller ??= new AbortController();
    this.controller.abort(reason);
  }
}
