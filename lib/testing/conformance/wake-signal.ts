import assert from 'node:assert/strict';
import type { ClaimRequest } from '../../providers/delay-queue.provider.js';
import { TOPIC } from './builders.js';
import { claim } from './calls.js';
import type { ProviderUnderTest } from './harness.js';

/** Far above what a wake takes on any store; only a wake that does not come is waited for this long. */
const LIMIT_MS = 2_000;

/** Counts the wakes of a topic on one instance and lets a test wait for the next. */
export class WakeSignal {
  private count = 0;
  private waiting: (() => void) | undefined;
  private readonly unsubscribe: () => void;

  constructor({ provider }: Pick<ProviderUnderTest, 'provider'>, topic = TOPIC) {
    this.unsubscribe = provider.onWake(topic, () => {
      this.count++;
      this.waiting?.();
    });
  }

  /** Wakes so far. */
  get wakes(): number {
    return this.count;
  }

  /** Waits until there were more wakes than `since`. @throws Error naming `cause` when none came in time */
  async after(since: number, cause: string): Promise<void> {
    if (this.count > since) return;
    await new Promise<void>((resolve, reject) => {
      const limit = setTimeout(
        () => reject(new Error(`No wake came within ${LIMIT_MS} ms after ${cause}.`)),
        LIMIT_MS,
      );
      this.waiting = () => {
        clearTimeout(limit);
        resolve();
      };
    });
  }

  stop(): void {
    this.unsubscribe();
  }
}

/**
 * Claims, so that there is a forecast, then runs `act` and waits for the wake it must cause. What woke before that does
 * not count.
 */
export async function assertWakes(
  subject: Pick<ProviderUnderTest, 'provider'>,
  cause: string,
  act: () => Promise<unknown>,
  request: Partial<ClaimRequest> = {},
): Promise<void> {
  const signal = new WakeSignal(subject);
  try {
    const { claims } = await claim(subject, request);
    assert.deepEqual(claims, [], 'the case leaves something due');
    const before = signal.wakes;
    await act();
    await signal.after(before, cause);
  } finally {
    signal.stop();
  }
}
