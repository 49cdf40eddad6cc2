/** Chunk of a long wait. A Node timer takes 2^31 - 1 ms at most and fires at once for anything longer. */
const CHUNK_MS = 3_600_000;

/**
 * How time passes for a queue. `now` never jumps, `wallNow` may; due times given as a delay use the first, those
 * given as an instant the second. Replace it (see `VirtualClock`) to test without waiting.
 */
export interface Clock {
  /** Milliseconds since an arbitrary start, with a fraction; never goes back. */
  now(): number;
  /** Epoch milliseconds; jumps when the machine's clock is set. */
  wallNow(): number;
  /**
   * Calls `callback` once, as soon as `now()` has reached `atMs` and never before, whatever the distance.
   * A time that is past calls back in the next turn of the event loop, not inside this call.
   * @returns a function that takes the call back; harmless once it was made
   */
  callAt(atMs: number, callback: () => void): () => void;
  /**
   * Calls `listener` after the wall clock was set, forward or back, or ran apart from `now()`.
   * @returns a function that takes the listener away
   */
  onWallStep(listener: () => void): () => void;
}

/** How the last stretch of a wait, which a timer of whole milliseconds cannot hit, is bridged. */
export type Precision = 'normal' | 'high';

/**
 * A Node timer counts in whole milliseconds of a truncated clock: it fires up to one millisecond early or late. So the
 * timer is set short, and what remains is bridged by looking at the clock once per turn of the event loop, which keeps
 * I/O going but costs CPU. `normal` bridges at most this long for each wake; `high` wakes early enough to bridge always.
 */
const BRIDGE_MS: Record<Precision, number> = { normal: 0.5, high: 2 };

/**
 * No system call tells Node that the clock was set, so the clocks are compared this often while anyone cares. It is how
 * late an `at` job can be after a step, or after the machine slept.
 */
const WALL_CHECK_MS = 1_000;

/** Two readings of the clocks differ by this much without any step: the wall clock counts whole milliseconds. */
const WALL_NOISE_MS = 2;

/** The machine's clocks. */
export class SystemClock implements Clock {
  private readonly wallListeners = new Set<() => void>();
  private wallCheck: NodeJS.Timeout | undefined;
  private wallOffsetMs = 0;

  constructor(private readonly precision: Precision = 'normal') {}

  now(): number {
    return performance.now();
  }

  wallNow(): number {
    return Date.now();
  }

  callAt(atMs: number, callback: () => void): () => void {
    const bridgeMs = BRIDGE_MS[this.precision];
    let timer: NodeJS.Timeout | undefined;
    let immediate: NodeJS.Immediate | undefined;
    let first = true;

    const step = (): void => {
      timer = undefined;
      immediate = undefined;
      const waitMs = atMs - performance.now();
      if (waitMs <= 0 && !first) return callback();
      first = false;
      if (waitMs <= bridgeMs) immediate = setImmediate(step);
      else timer = setTimeout(step, timerMs(waitMs, this.precision));
    };
    step();

    return () => {
      clearTimeout(timer);
      clearImmediate(immediate);
    };
  }

  onWallStep(listener: () => void): () => void {
    if (this.wallListeners.size === 0) this.watchWall();
    this.wallListeners.add(listener);
    return () => {
      this.wallListeners.delete(listener);
      if (this.wallListeners.size === 0) clearInterval(this.wallCheck);
    };
  }

  private watchWall(): void {
    this.wallOffsetMs = Date.now() - performance.now();
    this.wallCheck = setInterval(() => {
      const offsetMs = Date.now() - performance.now();
      if (Math.abs(offsetMs - this.wallOffsetMs) < WALL_NOISE_MS) return;
      this.wallOffsetMs = offsetMs;
      for (const listener of this.wallListeners) listener();
    }, WALL_CHECK_MS);
    // What waits for an instant has an alarm of its own; this is no reason to live on.
    this.wallCheck.unref();
  }
}

function timerMs(waitMs: number, precision: Precision): number {
  if (waitMs > CHUNK_MS) return CHUNK_MS;
  const whole = Math.floor(waitMs);
  // One millisecond earlier still: a busy loop may start the timer late, and the bridge makes up for it.
  return Math.max(1, precision === 'high' ? whole - 1 : whole);
}
