import { types } from 'node:util';
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
  if (isInstance(error, DeadLetterJobError)) return { outcome: 'dead-letter', reason: 'handler-request' };
  if (attempt >= maxAttempts) return { outcome: 'dead-letter', reason: 'attempts-exhausted' };
  if (isInstance(error, RetryJobError)) {
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
  const answer: unknown = attempted(() => ask(attempt, error));
  // An asynchronous one is a mistake; if it also rejects, nobody else would catch that, and the process would end.
  if (isInstance(answer, Promise)) answer.catch(() => undefined);
  return toMs(answer) ?? backoffMs(DEFAULT_BACKOFF, attempt, random);
}

/** What is kept of an error, whatever was thrown, and however hostile it is. */
export function toStoredError(thrown: unknown): StoredError {
  // Not `instanceof` alone: an error of another realm, as test runners and `vm` have them, is one as well.
  if (!isInstance(thrown, Error) && !types.isNativeError(thrown)) {
    const what = attempted(() => describeValue(thrown)) ?? 'something that cannot be read';
    return { name: 'NonError', message: `The handler threw ${what}.` };
  }
  const stack = attempted(() => thrown.stack);
  return {
    name: clip(attempted(() => thrown.name) ?? 'Error', MAX_MESSAGE_LENGTH),
    message: clip(attempted(() => thrown.message) ?? '', MAX_MESSAGE_LENGTH),
    ...(typeof stack === 'string' && { stack: clip(stack, MAX_STACK_LENGTH) }),
  };
}

/** `instanceof` that a Proxy cannot make throw. */
function isInstance<Type>(value: unknown, type: abstract new (...args: never[]) => Type): value is Type {
  return attempted(() => value instanceof type) === true;
}

/** Reads something that belongs to the user and may throw. */
function attempted<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function clip(value: unknown, length: number): string {
  const text = attempted(() => String(value)) ?? '';
  // The cut may fall into a surrogate pair.
  return text.length > length ? `${text.slice(0, length - 1).toWellFormed()}…` : text;
}
