import type { Clock } from '../../clock.js';
import type { ClaimRequest } from '../delay-queue.provider.js';
import type { DueOrder } from './due-order.js';
import type { Leases } from './leases.js';
import { TokenBucket } from './token-bucket.js';

/** What holds claims of one topic back although jobs are due: leases in flight and the rate. */
export class ClaimLimits {
  /** The last claim was cut short by `maxInFlight`: until a lease ends, no claim can succeed. */
  capped = false;
  private readonly bucket = new TokenBucket();

  constructor(
    private readonly leases: Leases,
    private readonly order: DueOrder,
    private readonly clock: Clock,
  ) {}

  /** How many jobs a claim may take. */
  allowed({ limit, maxInFlight = Infinity, rate }: ClaimRequest): number {
    const slotsLeft = maxInFlight === Infinity ? Infinity : maxInFlight - this.countInFlight();
    const tokens = rate ? this.bucket.available(this.clock.now(), rate) : Infinity;
    return Math.min(limit, slotsLeft, tokens);
  }

  /** To be called with what a claim took. */
  spend(count: number, { rate }: ClaimRequest): void {
    if (rate) this.bucket.take(count);
  }

  /** How long the limits alone hold the next claim back, ms; `Infinity` until something happens. */
  untilNextClaim({ maxInFlight = Infinity, rate }: ClaimRequest): number {
    this.capped = maxInFlight !== Infinity && this.countInFlight() >= maxInFlight;
    const untilSlot = this.capped ? this.untilFirstExpiry() : 0;
    const untilToken = rate ? this.bucket.untilNext(this.clock.now(), rate) : 0;
    return Math.max(untilSlot, untilToken);
  }

  countInFlight(): number {
    const nowMs = this.clock.now();
    let count = 0;
    for (const slot of this.leases.slots()) if (this.order.monotonicDueOf(slot) > nowMs) count++;
    return count;
  }

  /** Leases that have expired wait for a slot themselves. */
  private untilFirstExpiry(): number {
    const nowMs = this.clock.now();
    let first = Infinity;
    for (const slot of this.leases.slots()) {
      const expiresMs = this.order.monotonicDueOf(slot);
      if (expiresMs > nowMs) first = Math.min(first, expiresMs);
    }
    return first - nowMs;
  }
}
