import type { Clock } from '../clock.js';

/** Wakes sleeping topics at their time, with one timer for all of them. */
export class Waker {
  private readonly wakeAts = new Map<string, number>();
  private alarmAtMs = Infinity;
  private cancelAlarm: (() => void) | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly wake: (topic: string) => void,
  ) {}

  /** Wakes the topic in `ms`; an earlier call for it no longer counts. */
  sleep(topic: string, ms: number): void {
    const atMs = this.clock.now() + ms;
    this.wakeAts.set(topic, atMs);
    // A timer that is set for a topic which sleeps longer now finds nothing to do and sets itself anew.
    if (atMs < this.alarmAtMs) this.setAlarm(atMs);
  }

  /** The topic sleeps until it is woken by another. */
  forget(topic: string): void {
    this.wakeAts.delete(topic);
    if (this.wakeAts.size === 0) this.clearAlarm();
  }

  private setAlarm(atMs: number): void {
    this.cancelAlarm?.();
    this.alarmAtMs = atMs;
    this.cancelAlarm = this.clock.callAt(atMs, () => this.ring());
  }

  private clearAlarm(): void {
    this.cancelAlarm?.();
    this.cancelAlarm = undefined;
    this.alarmAtMs = Infinity;
  }

  private ring(): void {
    this.cancelAlarm = undefined;
    this.alarmAtMs = Infinity;
    const nowMs = this.clock.now();
    let nextMs = Infinity;
    const due: string[] = [];
    for (const [topic, atMs] of this.wakeAts) {
      if (atMs <= nowMs) due.push(topic);
      else nextMs = Math.min(nextMs, atMs);
    }
    for (const topic of due) this.wakeAts.delete(topic);
    if (nextMs < Infinity) this.setAlarm(nextMs);
    // Last, because a topic that is woken sets its next time.
    for (const topic of due) this.wake(topic);
  }
}
