import type { RateLimit } from '../delay-queue.provider.js';

/** A third of a second is not three equal parts in binary: so much of a token may be missing. */
const ROUNDING = 1e-6;

/** Counts what a rate limit still allows. Starts full; time refills it, never past `burst`. */
export class TokenBucket {
  private tokens = Infinity;
  private filledAtMs = -Infinity;

  /** Whole claims allowed now. */
  available(nowMs: number, rate: RateLimit): number {
    this.refill(nowMs, rate);
    return Math.floor(this.tokens + ROUNDING);
  }

  take(count: number): void {
    this.tokens -= count;
  }

  /** How long until one claim is allowed, ms; 0 when it is now. */
  untilNext(nowMs: number, rate: RateLimit): number {
    this.refill(nowMs, rate);
    if (this.tokens + ROUNDING >= 1) return 0;
    const waitMs = ((1 - this.tokens) * rate.perMs) / rate.limit;
    // At least what moves the clock on: a shorter wait would be over before it began, again and again.
    return Math.max(waitMs, nowMs * Number.EPSILON);
  }

  private refill(nowMs: number, rate: RateLimit): void {
    const gained = ((nowMs - this.filledAtMs) * rate.limit) / rate.perMs;
    // The first call finds both infinite; a lowered burst takes effect at once.
    this.tokens = Math.min(rate.burst, this.tokens === Infinity ? rate.burst : this.tokens + gained);
    this.filledAtMs = nowMs;
  }
}
