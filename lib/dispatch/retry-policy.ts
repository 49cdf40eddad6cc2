import { DeadLetterJobError, RetryJobError } from '../delay-queue.errors.js';
import type { BackoffFunction } from '../delay-queue.options.js';
import { describeValue } from '../describe-value.js';
import { MAX_DURATION_MS, toMs } from '../duration.js';
import type { Backoff, DeadReason, StoredError } from '../job.js';
import { DEFAULT_BACKOFF } from '../topic-options.js';

const MAX_MESSAGE_LENGTH = 1_000;
const MAX_STACK_LENGTH = 4_000;

/** What follows a failed attempt. */
export type FailureVerdict =
  | { readonly outcome: 'retry'; readonly delayMs: number }
  | { readonly outcome: 'dead-letter'; readonly reason: DeadReason };

/**
 * Decides about a failed attempt.
 * @param error anything a handler can throw
 * @param attempt the attempt that failed, from 1
 */
export function judgeFailure(
  error: unknown,
  attempt: number,
  { maxAttempts, backoff }: { readonly maxAttempts: number; readonly backoff: Backoff | BackoffFunction },
  random: () => number = Math.random,
): FailureVerdict {
  if (error instanceof DeadLetterJobError) return { outcome: 'dead-letter', reason: 'handler-request' };
  if (attempt >= maxAttempts) return { outcome: 'dead-letter', reason: 'attempts-exhausted' };
  if (error instanceof RetryJobError) {
    return { outcome: 'retry', delayMs: toMs(error.delayMs) ?? backoffMs(DEFAULT_BACKOFF, attempt, random) };
  }
  if (typeof backoff === 'function') {
    return { outcome: 'retry', delayMs: askBackoff(backoff, attempt, error, random) };
  }
  return { outcome: 'retry', delayMs: backoffMs(backoff, attempt, random) };
}

/** Finite, whole, and from 0 to ten years at any attempt. */
export function backoffMs(backoff: Backoff, attempt: number, random: () => number): number {
  const waitMs = waitOf(backoff, attempt);
  return Math.min(MAX_DURATION_MS, Math.round(waitMs * (1 - backoff.jitter * random())));
}

function waitOf(backoff: Backoff, attempt: number): number {
  switch (backoff.type) {
    case 'fixed':
      return backoff.delayMs;
    case 'list':
      return backoff.delaysMs[Math.min(attempt, backoff.delaysMs.length) - 1]!;
    case 'exponential': {
      // The power overflows to Infinity long before the last attempt, and 0 * Infinity is no number.
      if (backoff.delayMs === 0) return 0;
      return Math.min(backoff.maxMs, backoff.delayMs * backoff.factor ** (attempt - 1));
    }
    default:
      return backoff satisfies never;
  }
}

/** A backoff function is the user's code: whatever it does, the retry gets a time. */
function askBackoff(ask: BackoffFunction, attempt: number, error: unknown, random: () => number): number {
  let answer: number | undefined;
  try {
    answer = toMs(ask(attempt, error));
  } catch {
    answer = undefined;
  }
  return answer ?? backoffMs(DEFAULT_BACKOFF, attempt, random);
}

/** What is kept of an error, whatever was thrown, and however hostile it is. */
export function toStoredError(thrown: unknown): StoredError {
  try {
    if (!(thrown instanceof Error)) {
      return { name: 'NonError', message: `The handler threw ${describeValue(thrown)}.` };
    }
    const { name, message, stack } = thrown;
    return {
      name: clip(name, MAX_MESSAGE_LENGTH),
      message: clip(message, MAX_MESSAGE_LENGTH),
      ...(typeof stack === 'string' && { stack: clip(stack, MAX_STACK_LENGTH) }),
    };
  } catch {
    return { name: 'NonError', message: 'The handler threw something that cannot be read.' };
  }
}

function clip(text: unknown, length: number): string {
  const whole = String(text);
  return whole.length > length ? `${whole.slice(0, length - 1)}…` : whole;
}
