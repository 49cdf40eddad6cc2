/** How long the others leave a due head to the one who watches it, ms. Spread, so that they do not come as one. */
const LEAST_GRACE_MS = 15;
const GRACE_SPREAD_MS = 25;

/** How late a timer of Node fires at most, on a machine that is not overloaded. */
const TIMER_ERROR_MS = 1;
/** A wait this short is bridged by the clock without a timer; see `SystemClock`. */
const BRIDGED_MS = 0.5;

/** How much of a round trip is anticipated. */
const TRIP_SHARE = 0.5;
/** A link that became slower is believed after some round trips. */
const TRIP_DECAY = 1.05;

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
  private version = 0;
  /** The shortest way to the store and back of late, ms. */
  private tripMs = 0;
  /** Until when whoever claims was told to sleep, monotonic ms; Infinity while that is open. */
  private toldUntilMs = Infinity;
  private readonly graceMs = LEAST_GRACE_MS + Math.random() * GRACE_SPREAD_MS;

  constructor(private readonly trustMs: number) {}

  /** Rises with everything that is learned: whoever asked meanwhile may have an older answer. */
  get learned(): number {
    return this.version;
  }

  /** By a hint or the answer to a claim. */
  learn(headInMs: number, isMine: boolean): void {
    this.version++;
    this.heardAtMs = performance.now();
    // It took a while to hear this, and it takes as long to ask: a claim sent that much earlier arrives in time. Not
    // quite as much, since one that comes too early costs another. The store decides what is due, whenever it is asked.
    this.headAtMs = this.heardAtMs + headInMs - (isMine ? Math.min(headInMs, TRIP_SHARE * this.tripMs) : 0);
    this.mine = isMine;
  }

  /** Nothing is known any more: the next claim asks. */
  forget(): void {
    this.version++;
    this.headAtMs = undefined;
  }

  /** A claim begins: until it is answered, every hint is news. @returns to be called with the answer's arrival */
  ask(): () => void {
    const askedAtMs = performance.now();
    this.toldUntilMs = Infinity;
    return () => {
      const tripMs = performance.now() - askedAtMs;
      this.tripMs = this.tripMs === 0 ? tripMs : Math.min(tripMs, this.tripMs * TRIP_DECAY);
    };
  }

  /** Whoever claims sleeps this long from here on, ms. */
  tell(waitMs: number): void {
    this.toldUntilMs = performance.now() + waitMs;
  }

  /** Whether there may be something to claim earlier than was told. */
  isNews(): boolean {
    return performance.now() + (this.knownWait() ?? 0) < this.toldUntilMs;
  }

  /** How long this instance has nothing to claim for certain, ms; undefined where only the store can tell. */
  knownWait(): number | undefined {
    if (this.headAtMs === undefined) return undefined;
    const now = performance.now();
    if (now - this.heardAtMs >= this.trustMs) return undefined;
    return this.headAtMs + (this.mine ? 0 : this.graceMs) > now ? this.wait(this.headAtMs - now) : undefined;
  }

  /**
   * How long to sleep on a head that is due in `headInMs`: the others longer, and the one who watches in two steps. A
   * timer may fire a millisecond late, which for one that was set to the instant is too late; waking early costs
   * nothing, since the rest is answered here.
   */
  wait(headInMs: number): number {
    if (!this.mine) return headInMs + this.graceMs;
    return headInMs > TIMER_ERROR_MS ? headInMs - TIMER_ERROR_MS : Math.min(headInMs, BRIDGED_MS);
  }
}
