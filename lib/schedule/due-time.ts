import { InvalidDueTimeError } from '../delay-queue.errors.js';
import { describeValue } from '../describe-value.js';
import { DURATION_HINT, type Duration, toMs } from '../duration.js';
import type { DueTime } from '../providers/delay-queue.provider.js';

/** When a job is due: exactly one of the two. */
export interface DueTimeOptions {
  /** From now, by the provider's clock. A fraction of a millisecond is rounded up. */
  readonly delay?: Duration;
  /** An instant, as a Date or epoch ms. One that is past means at once. */
  readonly at?: Date | number;
}

/** The last instant of the year 9999. */
const MAX_AT = 253_402_300_799_999;

/** @throws InvalidDueTimeError */
export function readDueTime({ delay, at }: DueTimeOptions, operation: string): DueTime {
  if (delay !== undefined && at !== undefined) {
    throw new InvalidDueTimeError(
      `Cannot ${operation}: both delay (${describeValue(delay)}) and at (${describeValue(at)}) are given. Give one of them.`,
    );
  }
  if (delay !== undefined) return { delayMs: readDelay(delay, operation), at: undefined };
  if (at !== undefined) return { delayMs: 0, at: readInstant(at, operation) };
  throw new InvalidDueTimeError(
    `Cannot ${operation}: neither delay nor at is given. Give delay (0 to run at once) or at.`,
  );
}

function readDelay(delay: Duration, operation: string): number {
  const delayMs = toMs(delay);
  if (delayMs === undefined) {
    throw new InvalidDueTimeError(
      `Cannot ${operation}: delay is ${describeValue(delay)}. Give ${DURATION_HINT}.`,
    );
  }
  return delayMs;
}

function readInstant(at: unknown, operation: string): number {
  const epochMs = at instanceof Date ? at.getTime() : at;
  // Dates before 1970 are as past as any; a negative number is a mistake.
  const least = at instanceof Date ? -Infinity : 0;
  if (typeof epochMs !== 'number' || !(epochMs >= least && epochMs <= MAX_AT)) {
    throw new InvalidDueTimeError(
      `Cannot ${operation}: at is ${describeValue(at)}. Give a valid Date, or epoch milliseconds from 0 to ${MAX_AT} (year 9999).`,
    );
  }
  return Math.ceil(epochMs);
}
