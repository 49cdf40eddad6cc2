import type { Clock } from '../../clock.js';
import type { DueTime } from '../delay-queue.provider.js';
import { DueHeap } from './due-heap.js';

/**
 * The due order of one topic over two clocks. Jobs given a delay are kept by monotonic time, so a step of the wall
 * clock does not touch them; jobs given an instant are kept by that instant, so they follow the step. Leases are delays.
 */
export class DueOrder {
  private readonly byDelay = new DueHeap();
  private readonly byInstant = new DueHeap();

  constructor(private readonly clock: Clock) {}

  get size(): number {
    return this.byDelay.size + this.byInstant.size;
  }

  /**
   * Adds a slot that is not in the order yet.
   * @param nowMs a reading of the monotonic clock, for who adds many at one moment
   */
  push(slot: number, { delayMs, at }: DueTime, sequence: number, nowMs = this.clock.now()): void {
    if (at === undefined) this.byDelay.push(slot, nowMs + delayMs, sequence);
    else this.byInstant.push(slot, at, sequence);
  }

  remove(slot: number): void {
    if (!this.byDelay.remove(slot)) this.byInstant.remove(slot);
  }

  /** Moves a slot that is in the order. */
  move(slot: number, due: DueTime, sequence: number): void {
    this.remove(slot);
    this.push(slot, due, sequence);
  }

  /** Keeps a slot that is in the order out of the way until an instant of monotonic time. */
  occupy(slot: number, untilMs: number, sequence: number): void {
    if (this.byDelay.has(slot)) return this.byDelay.update(slot, untilMs, sequence);
    this.byInstant.remove(slot);
    this.byDelay.push(slot, untilMs, sequence);
  }

  /** The slot that is due first at a reading of both clocks, or -1 when none is due then. */
  dueSlot(nowMs: number, wallMs: number): number {
    const { byDelay, byInstant } = this;
    const lateByDelay = nowMs - byDelay.headDue;
    const lateByInstant = wallMs - byInstant.headDue;
    if (lateByDelay < 0 && lateByInstant < 0) return -1;
    if (lateByDelay === lateByInstant) {
      return byDelay.headSequence < byInstant.headSequence ? byDelay.headSlot : byInstant.headSlot;
    }
    return lateByDelay > lateByInstant ? byDelay.headSlot : byInstant.headSlot;
  }

  /**
   * How long one may sleep without missing a due slot, unless the wall clock is stepped, ms: zero or below when one is
   * due, `Infinity` when there is none.
   */
  sleepMs(): number {
    return Math.min(this.byDelay.headDue - this.clock.now(), this.byInstant.headDue - this.clock.wallNow());
  }

  /** When the slot is due, on the monotonic clock as things stand. */
  monotonicDueOf(slot: number): number {
    if (this.byDelay.has(slot)) return this.byDelay.dueOf(slot);
    return this.clock.now() + this.byInstant.dueOf(slot) - this.clock.wallNow();
  }

  sequenceOf(slot: number): number {
    return this.byDelay.has(slot) ? this.byDelay.sequenceOf(slot) : this.byInstant.sequenceOf(slot);
  }

  forEachDue(visit: (slot: number) => void): void {
    this.byDelay.forEachDue(this.clock.now(), visit);
    this.byInstant.forEachDue(this.clock.wallNow(), visit);
  }

  forEach(visit: (slot: number) => void): void {
    this.byDelay.forEach(visit);
    this.byInstant.forEach(visit);
  }
}
