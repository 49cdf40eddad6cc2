import type { RateLimit } from '../delay-queue.provider.js';

/** Counts what a rate limit still allows. Starts full; time refills it, never past `burst`. */
export class TokenBucket {
  private tokens = Infinity;
  private filledAtMs = -Infinity;

  /** Whole claims allowed now. */
  available(nowMs: number, rate: RateLimit): number {
    this.refill(nowMs, rate);
    return Math.floor(this.tokens);
  }

  take(count: number): void {
    this.tokens -= count;
  }

  /** How long until one claim is allowed, ms; 0 when it is now. */
  untilNext(nowMs: number, rate: RateLimit): number {
    this.refill(nowMs, rate);
    return this.tokens >= 1 ? 0 : ((1 - this.tokens) * rate.perMs) / rate.limit;
  }

  private refill(nowMs: number, rate: RateLimit): void {
    const gained = ((nowMs - this.filledAtMs) * rate.limit) / rate.perMs;
    // The first call finds both infinite; a lowered burst takes effect at once.
    this.tokens = Math.min(rate.burst, this.tokens === Infinity ? rate.burst : this.tokens + gained);
    this.filledAtMs = nowMs;
  }
}
