import type { Clock } from '../clock.js';

/** Taken when this file is loaded: a test runner's fake timers would replace the global ones, and nothing would move. */
const { setImmediate, clearImmediate } = globalThis;

interface Alarm {
  readonly atMs: number;
  readonly sequence: number;
  readonly callback: () => void;
}

/** Turns of the real event loop without a call, after which all is quiet; a claim, a handler and a settle need three. */
const QUIET_TURNS = 5;

/** A job that schedules itself for now would otherwise keep time from moving on for ever. */
const MAX_TURNS = 100_000;

/**
 * Time that stands still until it is told to move. Alarms ring in due order, each at its own instant, and what they
 * start gets a chance to run before time moves on.
 */
export class VirtualClock implements Clock {
  private nowMs = 0;
  private wallOffsetMs: number;
  private sequence = 0;
  private readonly alarms = new Set<Alarm>();
  /** Calls made in a turn of their own so far, and those that are to come. */
  private calls = 0;
  private callsToCome = 0;
  private readonly wallListeners = new Set<() => void>();

  /** @param startAt wall-clock time to begin at, epoch ms */
  constructor(startAt: number | Date = Date.UTC(2030, 0, 1)) {
    this.wallOffsetMs = Number(startAt);
  }

  now(): number {
    return this.nowMs;
  }

  wallNow(): number {
    return this.nowMs + this.wallOffsetMs;
  }

  callAt(atMs: number, callback: () => void): () => void {
    if (atMs <= this.nowMs) return this.callInNextTurn(callback);
    const alarm: Alarm = { atMs, sequence: this.sequence++, callback };
    this.alarms.add(alarm);
    return () => void this.alarms.delete(alarm);
  }

  onWallStep(listener: () => void): () => void {
    this.wallListeners.add(listener);
    return () => void this.wallListeners.delete(listener);
  }

  /** How many alarms are set; zero once everything that used the clock is closed. */
  get pendingAlarms(): number {
    return this.alarms.size;
  }

  /** Lets time pass, ringing every alarm on the way. */
  async advance(ms: number): Promise<void> {
    const until = this.nowMs + ms;
    await this.settle();
    for (let alarm = this.nextAlarm(until); alarm; alarm = this.nextAlarm(until)) {
      this.alarms.delete(alarm);
      this.nowMs = Math.max(this.nowMs, alarm.atMs);
      alarm.callback();
      await this.settle();
    }
    // An alarm may have moved time further itself.
    this.nowMs = Math.max(this.nowMs, until);
  }

  /** Moves time without ringing anything, as a blocked event loop or a direct call of a provider sees it. */
  jump(ms: number): void {
    this.nowMs += ms;
  }

  /** Sets the wall clock forward or back; monotonic time does not notice. */
  stepWall(ms: number): void {
    this.wallOffsetMs += ms;
    for (const listener of this.wallListeners) listener();
  }

  /** Lets everything that is under way or due run, at the present instant. */
  async settle(): Promise<void> {
    let quiet = 0;
    for (let turn = 0; quiet < QUIET_TURNS && turn < MAX_TURNS; turn++) {
      const before = this.calls;
      await new Promise((resolve) => setImmediate(resolve));
      quiet = this.calls === before && this.callsToCome === 0 ? quiet + 1 : 0;
    }
  }

  private callInNextTurn(callback: () => void): () => void {
    this.callsToCome++;
    const immediate = setImmediate(() => {
      this.callsToCome--;
      this.calls++;
      callback();
    });
    return () => {
      if (!immediate.hasRef()) return;
      this.callsToCome--;
      clearImmediate(immediate);
    };
  }

  private nextAlarm(until: number): Alarm | undefined {
    let next: Alarm | undefined;
    for (const alarm of this.alarms) {
      if (alarm.atMs > until) continue;
      if (!next || alarm.atMs < next.atMs || (alarm.atMs === next.atMs && alarm.sequence < next.sequence)) {
        next = alarm;
      }
    }
    return next;
  }
}
