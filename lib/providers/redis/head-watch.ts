import type { ClaimResult } from '../delay-queue.provider.js';

/** How long the others leave a due head to the one who watches it, ms. Spread, so that they do not come as one. */
const LEAST_GRACE_MS = 15;
const GRACE_SPREAD_MS = 25;

const NOTHING: ClaimResult['claims'] = [];

/**
 * What one instance knows of the head of one topic without asking. Of many idle instances one watches the head and
 * comes for it in time; the others were told so by a hint, and come only if the head is still there a moment after its
 * due time. So a sparse job costs one claim, not one an instance.
 *
 * What is known here is trusted for `trustMs` at most: a hint can be lost with a link.
 */
export class HeadWatch {
  /** Monotonic ms; undefined while nothing is known. */
  private headAtMs: number | undefined;
  private heardAtMs = -Infinity;
  private mine = true;
  private readonly graceMs = LEAST_GRACE_MS + Math.random() * GRACE_SPREAD_MS;

  constructor(private readonly trustMs: number) {}

  /** By a hint or the answer to a claim. */
  learn(headInMs: number, isMine: boolean): void {
    this.heardAtMs = performance.now();
    this.headAtMs = this.heardAtMs + headInMs;
    this.mine = isMine;
  }

  /** Nothing is known any more: the next claim asks. */
  forget(): void {
    this.headAtMs = undefined;
  }

  /** The answer to a claim, where it is certain that there is nothing to claim for this instance now. */
  answer(): ClaimResult | undefined {
    if (this.headAtMs === undefined) return undefined;
    const now = performance.now();
    if (now - this.heardAtMs >= this.trustMs) return undefined;
    const waitMs = this.wait(this.headAtMs - now);
    return waitMs > 0 ? { claims: NOTHING, nextWakeInMs: waitMs === Infinity ? -1 : waitMs } : undefined;
  }

  /** How long to leave a head alone that is due in `headInMs`. */
  wait(headInMs: number): number {
    return this.mine ? headInMs : headInMs + this.graceMs;
  }
}
