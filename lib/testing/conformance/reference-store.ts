import type { JobExtras } from '../../job.js';
import type {
  CancelRequest,
  CancelStatus,
  LeaseRef,
  MoveRequest,
  NewJob,
  RenewStatus,
  RescheduleStatus,
  Settlement,
  SettleStatus,
} from '../../providers/delay-queue.provider.js';

/** A job as the reference keeps it. Its payload is unlike that of any other job, and so tells them apart. */
export interface ReferenceJob {
  readonly id: string;
  payload: string;
  dueAt: number;
  attempt: number;
  extras: JobExtras | undefined;
  /** Since the id was first scheduled; bounds a debounce. */
  readonly firstScheduledAt: number;
  /** Order of scheduling; undefined once the job moved, after which its place within one due time is open. */
  sequence: number | undefined;
  lease: { token: number; expiresAt: number } | undefined;
  cancelled: boolean;
  abort: boolean;
}

/**
 * What a provider must do, in the plainest form: one array of jobs, searched from end to end. Where the interface
 * leaves a choice, the model says so (`isTangled`) or takes over what the provider chose.
 */
export class ReferenceStore {
  jobs: ReferenceJob[] = [];
  /** Payloads of the dead letters, oldest first. */
  readonly dead: string[] = [];
  /** Every lease that was ever given, the stale ones too. */
  readonly leases: LeaseRef[] = [];
  paused = false;
  private nextSequence = 0;
  private readonly tangled = new Set<string>();

  constructor(private readonly now: () => number) {}

  pendingOf(id: string): ReferenceJob | undefined {
    return this.jobs.find((job) => job.id === id && !job.lease);
  }

  inFlightOf(id: string): readonly ReferenceJob[] {
    return this.jobs.filter((job) => job.id === id && job.lease);
  }

  /**
   * Whether more than one job could be meant by the id: two in flight, or one that came back to find it taken. The
   * interface does not say which one a call names then, so the model makes no such call.
   */
  isTangled(id: string): boolean {
    if (!this.jobs.some((job) => job.id === id)) this.tangled.delete(id);
    return this.tangled.has(id) || (!this.pendingOf(id) && this.inFlightOf(id).length > 1);
  }

  /** @param pastDueAt the due time the provider gave, taken over for an `at` in the past: that instant, or now */
  add(job: NewJob, pastDueAt: number): { readonly status: string; readonly dueAt: number } {
    const pending = this.pendingOf(job.id);
    if (pending && job.ifExists !== 'replace') {
      return { status: job.ifExists === 'keep' ? 'kept' : 'exists', dueAt: pending.dueAt };
    }
    const dueAt = this.dueAt(job, pastDueAt);
    if (!pending) {
      this.jobs.push({
        ...{ id: job.id, payload: job.payload, extras: job.extras, dueAt, attempt: 0, lease: undefined },
        ...{ firstScheduledAt: this.now(), sequence: this.nextSequence++, cancelled: false, abort: false },
      });
      return { status: 'scheduled', dueAt };
    }
    const latest = job.maxWaitMs === undefined ? Infinity : pending.firstScheduledAt + job.maxWaitMs;
    const { payload, extras } = job;
    Object.assign(pending, {
      payload,
      extras,
      attempt: 0,
      sequence: undefined,
      dueAt: Math.min(dueAt, latest),
    });
    return { status: 'replaced', dueAt: pending.dueAt };
  }

  cancel({ id, abort }: CancelRequest): CancelStatus {
    const pending = this.pendingOf(id);
    if (pending) {
      this.remove(pending);
      return 'cancelled';
    }
    const running = this.inFlightOf(id)[0];
    if (!running) return 'unknown';
    running.cancelled = true;
    running.abort ||= abort;
    return 'in-flight';
  }

  reschedule(move: MoveRequest, pastDueAt: number): RescheduleStatus {
    const pending = this.pendingOf(move.id);
    if (!pending) return this.inFlightOf(move.id).length > 0 ? 'in-flight' : 'unknown';
    pending.dueAt = this.dueAt(move, pastDueAt);
    pending.sequence = undefined;
    return 'rescheduled';
  }

  settle(settlement: Settlement): SettleStatus {
    const job = this.holderOf(settlement);
    if (!job) return 'lease-lost';
    const back = settlement.outcome === 'retry' || settlement.outcome === 'release';
    if (!back || job.cancelled) {
      this.remove(job);
      if (settlement.outcome === 'dead-letter') this.dead.push(job.payload);
      return 'settled';
    }
    if (this.jobs.some((other) => other !== job && other.id === job.id)) this.tangled.add(job.id);
    job.lease = undefined;
    if (settlement.outcome === 'release') job.attempt--;
    else {
      const { delayMs, extras } = settlement;
      Object.assign(job, { dueAt: this.now() + delayMs, extras, sequence: undefined });
    }
    return 'settled';
  }

  renew(lease: LeaseRef, leaseMs: number): RenewStatus {
    const job = this.holderOf(lease);
    if (!job?.lease) return 'lease-lost';
    job.lease.expiresAt = this.now() + leaseMs;
    return job.abort ? 'abort' : 'renewed';
  }

  /** From when the job can be claimed: its due time, or the end of its lease. */
  placeOf(job: ReferenceJob): number {
    return job.lease?.expiresAt ?? job.dueAt;
  }

  /** When the next claim can hand something out, epoch ms; Infinity when nothing waits or the topic is paused. */
  nextPlace(): number {
    if (this.paused) return Infinity;
    return Math.min(Infinity, ...this.claimable().map((job) => this.placeOf(job)));
  }

  claimable(): readonly ReferenceJob[] {
    return this.jobs.filter((job) => !(job.cancelled && job.lease));
  }

  /** Drops jobs that were cancelled in flight and lost their lease, as a provider may do at any claim. */
  forgetLostCancelled(): void {
    for (const job of this.jobs.filter((lost) => lost.cancelled && this.isExpired(lost))) this.remove(job);
  }

  isExpired(job: ReferenceJob): boolean {
    return job.lease !== undefined && job.lease.expiresAt <= this.now();
  }

  private holderOf({ id, token }: LeaseRef): ReferenceJob | undefined {
    return this.jobs.find((job) => job.id === id && job.lease?.token === token);
  }

  private dueAt({ at, delayMs }: { at: number | undefined; delayMs: number }, pastDueAt: number): number {
    if (at === undefined) return this.now() + delayMs;
    return at >= this.now() ? at : Math.min(Math.max(pastDueAt, at), this.now());
  }

  private remove(job: ReferenceJob): void {
    this.jobs = this.jobs.filter((other) => other !== job);
  }
}
