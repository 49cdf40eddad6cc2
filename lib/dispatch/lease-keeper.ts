import type { Clock } from '../clock.js';
import { JobCancelledError, LeaseLostError } from '../delay-queue.errors.js';
import type { DelayQueueProvider } from '../providers/delay-queue.provider.js';
import type { ProviderLink } from './provider-link.js';
import type { Run } from './run.js';

/** Renewed when a third of it has passed, a lease survives a lost renewal and still has a third left. */
const RENEWALS_PER_LEASE = 3;

/** Renews the leases of one topic's running handlers, those that are due for it together. */
export class LeaseKeeper {
  private cancelAlarm: (() => void) | undefined;
  private renewing: Promise<boolean> | undefined;

  constructor(
    private readonly topic: string,
    private readonly leaseMs: number,
    private readonly provider: DelayQueueProvider,
    private readonly clock: Clock,
    private readonly link: ProviderLink,
    /** Every run that holds a lease: its handler runs, or its outcome is not settled yet. */
    private readonly runs: ReadonlyMap<number, Run>,
    private readonly onLost: (run: Run) => void,
  ) {}

  /** To be called when runs begin. */
  watch(): void {
    this.cancelAlarm ??= this.clock.callAt(this.clock.now() + this.intervalMs, () => void this.ring());
  }

  /**
   * Renews what should have been renewed by now. Before a claim: after the event loop was blocked for longer than a
   * lease, the claim would otherwise take over the jobs that still run here.
   */
  async catchUp(): Promise<void> {
    const overdueMs = this.clock.now() - 2 * this.intervalMs;
    for (const run of this.runs.values()) {
      if (run.leasedAtMs > overdueMs || run.leaseLost) continue;
      if (await this.renew()) return;
      throw new Error('The leases of running jobs could not be renewed; nothing is claimed meanwhile.');
    }
  }

  stop(): void {
    this.cancelAlarm?.();
    this.cancelAlarm = undefined;
  }

  private get intervalMs(): number {
    return this.leaseMs / RENEWALS_PER_LEASE;
  }

  private async ring(): Promise<void> {
    this.cancelAlarm = undefined;
    if (this.runs.size === 0) return;
    // Set before the provider answers: an answer that does not come must not end the renewing.
    this.watch();
    await this.renew();
  }

  private renew(): Promise<boolean> {
    return (this.renewing ??= this.renewDue().finally(() => (this.renewing = undefined)));
  }

  /** @returns whether the store took it */
  private async renewDue(): Promise<boolean> {
    const nowMs = this.clock.now();
    // Runs younger than half an interval are renewed next time, when they are still younger than two thirds of a lease.
    const due = [...this.runs.values()].filter(
      (run) => !run.leaseLost && nowMs - run.leasedAtMs >= this.intervalMs / 2,
    );
    if (due.length === 0) return true;
    try {
      const statuses = await this.provider.renew(
        this.topic,
        due.map((run) => run.claim),
        this.leaseMs,
      );
      this.link.works('renew leases');
      due.forEach((run, index) => {
        if (statuses[index] === 'lease-lost') return this.lose(run);
        run.renewed(nowMs);
        if (statuses[index] === 'abort') run.abort(new JobCancelledError(run.topic, run.id));
      });
      return true;
    } catch (error) {
      this.link.failed('renew leases', error);
      this.tellOverdue(due);
      return false;
    }
  }

  /** Nobody can say whether the job was taken over, so the handler is told; its outcome is judged by its token. */
  private tellOverdue(runs: readonly Run[]): void {
    const nowMs = this.clock.now();
    for (const run of runs) {
      if (!this.runs.has(run.token) || nowMs - run.leasedAtMs < this.leaseMs) continue;
      run.abort(new LeaseLostError(run.topic, run.id, run.token));
    }
  }

  private lose(run: Run): void {
    // Settled while the renewal was on its way: that the lease is gone is as it should be.
    if (run.settling || !this.runs.has(run.token)) return;
    run.loseLease(new LeaseLostError(run.topic, run.id, run.token));
    this.onLost(run);
  }
}
