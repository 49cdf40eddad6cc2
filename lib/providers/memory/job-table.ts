import type { JobExtras } from '../../job.js';

const INITIAL_CAPACITY = 16;

/** An empty table that was larger than this gives its memory back. */
const KEPT_CAPACITY = 4_096;
const MAX_ATTEMPT = 0xffff;

/**
 * The jobs of one topic, a column for each field, a slot for each job. An object a job would cost its header and 8
 * bytes a field, and the garbage collector would walk every one; here most fields are plain numbers.
 */
export class JobTable {
  private ids: string[] = [];
  private payloads: string[] = [];
  private attempts = new Uint16Array(INITIAL_CAPACITY);
  private dueAts = new Float64Array(INITIAL_CAPACITY);
  private scheduledAts = new Float64Array(INITIAL_CAPACITY);
  /** Few jobs have any, so they cost nothing where there are none. */
  private readonly extras = new Map<number, JobExtras>();
  private freeSlots: number[] = [];
  private nextSlot = 0;

  /** Stored jobs. */
  get size(): number {
    return this.nextSlot - this.freeSlots.length;
  }

  add(
    id: string,
    payload: string,
    dueAt: number,
    scheduledAt: number,
    extras: JobExtras | undefined,
  ): number {
    const slot = this.freeSlots.pop() ?? this.nextSlot++;
    if (slot >= this.attempts.length) this.grow();
    this.ids[slot] = id;
    this.scheduledAts[slot] = scheduledAt;
    this.write(slot, payload, dueAt, extras);
    return slot;
  }

  /** New contents for the job in `slot`, which keeps its id and the time it was first scheduled. */
  write(slot: number, payload: string, dueAt: number, extras: JobExtras | undefined): void {
    this.payloads[slot] = payload;
    this.attempts[slot] = 0;
    this.dueAts[slot] = dueAt;
    this.setExtras(slot, extras);
  }

  remove(slot: number): void {
    // The strings would live on until the slot is used again.
    this.ids[slot] = '';
    this.payloads[slot] = '';
    this.extras.delete(slot);
    this.freeSlots.push(slot);
    if (this.size === 0 && this.nextSlot > KEPT_CAPACITY) this.shrink();
  }

  idOf(slot: number): string {
    return this.ids[slot]!;
  }

  payloadOf(slot: number): string {
    return this.payloads[slot]!;
  }

  attemptOf(slot: number): number {
    return this.attempts[slot]!;
  }

  dueAtOf(slot: number): number {
    return this.dueAts[slot]!;
  }

  scheduledAtOf(slot: number): number {
    return this.scheduledAts[slot]!;
  }

  extrasOf(slot: number): JobExtras | undefined {
    return this.extras.get(slot);
  }

  setDueAt(slot: number, dueAt: number): void {
    this.dueAts[slot] = dueAt;
  }

  setExtras(slot: number, extras: JobExtras | undefined): void {
    if (extras) this.extras.set(slot, extras);
    else this.extras.delete(slot);
  }

  /** Counts one attempt more; the count stops at 65 535. @returns the new count */
  countAttempt(slot: number): number {
    return (this.attempts[slot] = Math.min(MAX_ATTEMPT, this.attempts[slot]! + 1));
  }

  uncountAttempt(slot: number): void {
    this.attempts[slot] = Math.max(0, this.attempts[slot]! - 1);
  }

  private shrink(): void {
    this.ids = [];
    this.payloads = [];
    this.freeSlots = [];
    this.nextSlot = 0;
    this.attempts = new Uint16Array(INITIAL_CAPACITY);
    this.dueAts = new Float64Array(INITIAL_CAPACITY);
    this.scheduledAts = new Float64Array(INITIAL_CAPACITY);
  }

  private grow(): void {
    const capacity = this.attempts.length * 2;
    const attempts = new Uint16Array(capacity);
    attempts.set(this.attempts);
    this.attempts = attempts;
    this.dueAts = doubled(this.dueAts);
    this.scheduledAts = doubled(this.scheduledAts);
  }
}

function doubled(column: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(column.length * 2);
  larger.set(column);
  return larger;
}
