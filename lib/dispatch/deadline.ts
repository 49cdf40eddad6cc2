import type { Clock } from '../clock.js';

/**
 * Waits for `work`, but no longer than `ms`; after that, gives or throws what `timeUp` does. The work itself goes on,
 * and what becomes of it is ignored.
 */
export async function withDeadline<Result>(
  work: Promise<Result>,
  ms: number,
  clock: Clock,
  timeUp: () => Result,
): Promise<Result> {
  let cancelAlarm: (() => void) | undefined;
  const deadline = new Promise<void>((resolve) => {
    cancelAlarm = clock.callAt(clock.now() + ms, resolve);
  });
  try {
    return await Promise.race([work, deadline.then(timeUp)]);
  } finally {
    cancelAlarm?.();
  }
}

/** Waits, or until the signal aborts; never rejects. */
export async function sleep(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const end = (): void => {
      cancelAlarm();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancelAlarm = clock.callAt(clock.now() + ms, end);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
