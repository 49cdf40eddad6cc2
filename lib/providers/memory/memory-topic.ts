import type { Clock } from '../../clock.js';
import type {
  AddResult,
  CancelRequest,
  CancelStatus,
  Claim,
  ClaimRequest,
  ClaimResult,
  DeadLetterRetention,
  DueTime,
  LeaseRef,
  MoveRequest,
  NewJob,
  RenewStatus,
  RescheduleStatus,
  SettleStatus,
  Settlement,
} from '../delay-queue.provider.js';
import { ClaimLimits } from './claim-limits.js';
import { DeadLetterShelf } from './dead-letter-shelf.js';
import { DueOrder } from './due-order.js';
import { IdIndex } from './id-index.js';
import { JobTable } from './job-table.js';
import { type Lease, Leases } from './leases.js';
import { WakeSignal } from './wake-signal.js';

/**
 * All the jobs of one topic, and every change to them. A job is a slot; it is in the due order for as long as it is
 * stored, at its due time while it waits and at the expiry of its lease while it runs.
 */
export class MemoryTopic {
  readonly table = new JobTable();
  readonly order: DueOrder;
  readonly leases = new Leases();
  readonly dead: DeadLetterShelf;
  readonly settings = new Map<string, string>();
  readonly wake = new WakeSignal();
  readonly abortListeners = new Set<(lease: LeaseRef) => void>();
  paused = false;

  private readonly ids = new IdIndex();
  private readonly limits: ClaimLimits;
  private sequence = 0;

  constructor(
    readonly name: string,
    private readonly clock: Clock,
    retention: DeadLetterRetention,
    private readonly reportDropped: (count: number) => void,
  ) {
    this.order = new DueOrder(clock);
    this.dead = new DeadLetterShelf(clock, retention);
    this.limits = new ClaimLimits(this.leases, this.order, clock);
  }

  /** @param room how many jobs more may be stored */
  add(jobs: readonly NewJob[], room: number): AddResult[] {
    // One reading for the batch, which is one moment: reading both clocks for each job would take longer than the rest.
    // The wall clock first: what is told as the due time is then never later than the job really is.
    const wallMs = this.clock.wallNow();
    const nowMs = this.clock.now();
    const most = this.table.size + room;
    return jobs.map((job) => this.addOne(job, nowMs, wallMs, this.table.size >= most));
  }

  /** Jobs that wait; those under a lease do not. */
  countPending(): number {
    return this.table.size - this.limits.countInFlight();
  }

  private addOne(job: NewJob, nowMs: number, wallMs: number, full: boolean): AddResult {
    const { id, ifExists } = job;
    const slot = this.slotOf(id);
    if (slot === undefined || this.isInFlight(slot)) {
      return full ? { id, status: 'full', dueAt: 0 } : this.insert(job, nowMs, wallMs);
    }
    if (ifExists === 'replace') return this.replace(slot, job);
    return { id, status: ifExists === 'keep' ? 'kept' : 'exists', dueAt: this.table.dueAtOf(slot) };
  }

  cancel({ id, abort }: CancelRequest): CancelStatus {
    const slot = this.slotOf(id);
    if (slot === undefined) return 'unknown';
    if (!this.isInFlight(slot)) {
      this.drop(slot);
      return 'cancelled';
    }
    const lease = this.leases.ofSlot(slot)!;
    lease.cancelled = true;
    if (abort) this.requestAbort(id, lease);
    return 'in-flight';
  }

  reschedule(move: MoveRequest): RescheduleStatus {
    const slot = this.slotOf(move.id);
    if (slot === undefined) return 'unknown';
    if (this.isInFlight(slot)) return 'in-flight';
    this.leases.revoke(slot);
    this.table.setDueAt(slot, this.dueAt(move));
    this.order.move(slot, move, this.sequence++);
    return 'rescheduled';
  }

  claim(request: ClaimRequest): ClaimResult {
    if (this.paused) {
      this.wake.foretell(Infinity);
      return { claims: [], nextWakeInMs: -1 };
    }
    const claims: Claim[] = [];
    const allowed = this.limits.allowed(request);
    // One reading for the whole claim: a lease shorter than this loop takes would be claimed by it again.
    const nowMs = this.clock.now();
    const wallMs = this.clock.wallNow();
    while (claims.length < allowed) {
      const slot = this.order.dueSlot(nowMs, wallMs);
      if (slot === -1) break;
      if (this.leases.ofSlot(slot)?.cancelled) this.drop(slot);
      else claims.push(this.lease(slot, nowMs, request.leaseMs));
    }
    this.limits.spend(claims.length, request);

    const waitMs = Math.max(0, this.order.sleepMs(), this.limits.untilNextClaim(request));
    this.wake.foretell(this.clock.now() + waitMs);
    return { claims, nextWakeInMs: waitMs === Infinity ? -1 : waitMs };
  }

  settle(settlement: Settlement): SettleStatus {
    const lease = this.leaseOf(settlement);
    if (!lease) return 'lease-lost';
    const { slot } = lease;
    switch (settlement.outcome) {
      case 'complete':
        this.drop(slot);
        break;
      case 'retry':
        if (lease.cancelled) this.drop(slot);
        else this.retry(slot, settlement);
        break;
      case 'dead-letter':
        this.bury(slot, settlement);
        break;
      case 'release':
        if (lease.cancelled) this.drop(slot);
        else this.release(lease);
        break;
      default:
        settlement satisfies never;
    }
    return 'settled';
  }

  renew(ref: LeaseRef, leaseMs: number): RenewStatus {
    const lease = this.leaseOf(ref);
    if (!lease) return 'lease-lost';
    this.order.occupy(lease.slot, this.clock.now() + leaseMs, lease.sequence);
    return lease.abort ? 'abort' : 'renewed';
  }

  /** To be called after a batch of changes: wakes those who sleep longer than the due order says. */
  announce(): void {
    if (this.paused || this.limits.capped) return;
    this.wake.wakeFor(this.clock.now() + Math.max(0, this.order.sleepMs()));
  }

  /** Leases have ended, so a claim that `maxInFlight` cut short could succeed. */
  uncap(): void {
    this.limits.capped = false;
  }

  isEmpty(): boolean {
    return this.table.size + this.dead.size + this.settings.size === 0 && !this.paused;
  }

  /** The job an id names. One that was cancelled while it ran, and whose run ended without an outcome, is none. */
  slotOf(id: string): number | undefined {
    const slot = this.ids.get(id);
    if (slot === undefined || !this.isGivenUp(slot)) return slot;
    this.drop(slot);
    return this.ids.get(id);
  }

  /** Cancelled in flight, and the lease has expired: the next claim would drop it. */
  isGivenUp(slot: number): boolean {
    return this.leases.ofSlot(slot)?.cancelled === true && !this.isInFlight(slot);
  }

  /** Whether the job runs under a lease that has not expired. */
  isInFlight(slot: number): boolean {
    return this.leases.ofSlot(slot) !== undefined && this.order.monotonicDueOf(slot) > this.clock.now();
  }

  private requestAbort(id: string, lease: Lease): void {
    lease.abort = true;
    for (const listener of this.abortListeners) listener({ id, token: lease.token });
  }

  private insert(job: NewJob, nowMs: number, wallMs: number): AddResult {
    const { id, payload, delayMs, at, extras } = job;
    const dueAt = at ?? wallMs + delayMs;
    const slot = this.table.add(id, payload, dueAt, wallMs, extras);
    this.ids.take(id, slot);
    this.order.push(slot, job, this.sequence++, nowMs);
    return { id, status: 'scheduled', dueAt };
  }

  private replace(slot: number, job: NewJob): AddResult {
    const due = this.bounded(job, this.table.scheduledAtOf(slot));
    const dueAt = this.dueAt(due);
    this.leases.revoke(slot);
    this.table.write(slot, job.payload, dueAt, job.extras);
    this.order.move(slot, due, this.sequence++);
    return { id: job.id, status: 'replaced', dueAt };
  }

  /** The due time asked for, or the end of `maxWaitMs` if that comes first. */
  private bounded(job: NewJob, scheduledAt: number): DueTime {
    if (job.maxWaitMs === undefined) return job;
    const latest = scheduledAt + job.maxWaitMs;
    if (this.dueAt(job) <= latest) return job;
    return { delayMs: Math.max(0, latest - this.clock.wallNow()), at: undefined };
  }

  private dueAt(due: DueTime): number {
    return due.at ?? this.clock.wallNow() + due.delayMs;
  }

  private lease(slot: number, nowMs: number, leaseMs: number): Claim {
    const { table, order } = this;
    const lost = this.leases.ofSlot(slot);
    const dueMs = lost?.dueMs ?? order.monotonicDueOf(slot);
    const { token, sequence } = this.leases.grant(slot, dueMs, order.sequenceOf(slot));
    order.occupy(slot, nowMs + leaseMs, sequence);
    return {
      id: table.idOf(slot),
      token,
      payload: table.payloadOf(slot),
      attempt: table.countAttempt(slot),
      dueAt: table.dueAtOf(slot),
      scheduledAt: table.scheduledAtOf(slot),
      lateMs: Math.max(0, nowMs - dueMs),
      extras: table.extrasOf(slot),
    };
  }

  private retry(slot: number, { delayMs, extras }: Extract<Settlement, { outcome: 'retry' }>): void {
    this.leases.revoke(slot);
    const due = { delayMs, at: undefined };
    this.table.setDueAt(slot, this.dueAt(due));
    this.table.setExtras(slot, extras);
    this.order.move(slot, due, this.sequence++);
  }

  private release({ slot, dueMs, sequence }: Lease): void {
    this.leases.revoke(slot);
    this.table.uncountAttempt(slot);
    this.order.occupy(slot, dueMs, sequence);
  }

  private bury(slot: number, { extras }: Extract<Settlement, { outcome: 'dead-letter' }>): void {
    const { table } = this;
    const dropped = this.dead.add({
      id: table.idOf(slot),
      topic: this.name,
      payload: table.payloadOf(slot),
      attempts: table.attemptOf(slot),
      dueAt: table.dueAtOf(slot),
      scheduledAt: table.scheduledAtOf(slot),
      extras,
    });
    this.drop(slot);
    if (dropped > 0) this.reportDropped(dropped);
  }

  private drop(slot: number): void {
    this.ids.leave(this.table.idOf(slot), slot);
    this.leases.revoke(slot);
    this.order.remove(slot);
    this.table.remove(slot);
  }

  private leaseOf(ref: LeaseRef): Lease | undefined {
    const lease = this.leases.ofToken(ref.token);
    return lease && this.table.idOf(lease.slot) === ref.id ? lease : undefined;
  }
}
