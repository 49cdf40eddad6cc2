import type { JobExtras } from '../../job.js';
import type {
  AddResult,
  CancelRequest,
  CancelStatus,
  DueTime,
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
  everClaimed: boolean;
  /** Cancelled in flight and its lease lost before a claim, which may have removed it; no call is made on it any more. */
  limbo: boolean;
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

  /** The job that waits under the id; one whose lease expired waits again. */
  pendingOf(id: string): ReferenceJob | undefined {
    return this.jobs.find((job) => job.id === id && !this.isInFlight(job));
  }

  inFlightOf(id: string): readonly ReferenceJob[] {
    return this.jobs.filter((job) => job.id === id && this.isInFlight(job));
  }

  /**
   * Whether it is open which job a call means: with several under the id it is clear only while the latest waits and
   * the others run; and one that was cancelled in flight and lost its lease may be gone. The model makes no such call.
   */
  isTangled(id: string): boolean {
    const jobs = this.jobs.filter((job) => job.id === id);
    if (jobs.length === 0) this.tangled.delete(id);
    if (this.tangled.has(id) || jobs.some((job) => job.cancelled && this.isExpired(job))) return true;
    const waiting = jobs.filter((job) => !this.isInFlight(job));
    return jobs.length > 1 && !(waiting.length === 1 && waiting[0] === jobs.at(-1));
  }

  /** @param given the due time the provider answered, which the model takes over where it has a choice (`orNow`) */
  add(job: NewJob, given: number): AddResult {
    const { id } = job;
    const pending = this.pendingOf(id);
    if (pending && job.ifExists !== 'replace') {
      return { id, status: job.ifExists === 'keep' ? 'kept' : 'exists', dueAt: pending.dueAt };
    }
    const dueAt = this.dueAt(job);
    if (!pending) {
      const stored = this.newJob(job, this.orNow(dueAt, given));
      this.jobs.push(stored);
      return { id, status: 'scheduled', dueAt: stored.dueAt };
    }
    const latest = job.maxWaitMs === undefined ? Infinity : pending.firstScheduledAt + job.maxWaitMs;
    const { payload, extras } = job;
    const moved = {
      dueAt: this.orNow(Math.min(dueAt, latest), given),
      sequence: undefined,
      lease: undefined,
    };
    Object.assign(pending, { payload, extras, attempt: 0, ...moved });
    return { id, status: 'replaced', dueAt: pending.dueAt };
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

  /** @param move not into the past */
  reschedule(move: MoveRequest): RescheduleStatus {
    const pending = this.pendingOf(move.id);
    if (!pending) return this.inFlightOf(move.id).length > 0 ? 'in-flight' : 'unknown';
    Object.assign(pending, { dueAt: this.dueAt(move), sequence: undefined, lease: undefined });
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
    if (this.newerOf(job)) this.tangled.add(job.id);
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

  /** A claim may drop the jobs that were cancelled in flight and lost their lease; or it meets them later. */
  passedByAClaim(): void {
    for (const job of this.jobs) job.limbo ||= job.cancelled && this.isExpired(job);
  }

  isInFlight(job: ReferenceJob): boolean {
    return job.lease !== undefined && !this.isExpired(job);
  }

  isExpired(job: ReferenceJob): boolean {
    return job.lease !== undefined && job.lease.expiresAt <= this.now();
  }

  holderOf({ id, token }: LeaseRef): ReferenceJob | undefined {
    return this.jobs.find((job) => job.id === id && job.lease?.token === token);
  }

  private newJob({ id, payload, extras }: NewJob, dueAt: number): ReferenceJob {
    return {
      id,
      payload,
      dueAt,
      attempt: 0,
      extras,
      firstScheduledAt: this.now(),
      sequence: this.nextSequence++,
      lease: undefined,
      cancelled: false,
      abort: false,
      everClaimed: false,
      limbo: false,
    };
  }

  private dueAt({ at, delayMs }: DueTime): number {
    return at ?? this.now() + delayMs;
  }

  /** A due time that is past means at once: the provider may keep that instant, or the present one. */
  private orNow(dueAt: number, given: number): number {
    return dueAt < this.now() && given > dueAt && given <= this.now() ? given : dueAt;
  }

  /** A job scheduled under the same id while this one was in flight; jobs stand in the order of scheduling. */
  private newerOf(job: ReferenceJob): ReferenceJob | undefined {
    return this.jobs.slice(this.jobs.indexOf(job) + 1).find(({ id }) => id === job.id);
  }

  private remove(job: ReferenceJob): void {
    const older = this.jobs.slice(0, this.jobs.indexOf(job)).some(({ id }) => id === job.id);
    // Whether the id names the older one again is left open.
    if (older) this.tangled.add(job.id);
    this.jobs = this.jobs.filter((other) => other !== job);
  }
}
