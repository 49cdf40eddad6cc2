import assert from 'node:assert/strict';
import type { ClaimRequest, LeaseRef } from '../../providers/delay-queue.provider.js';
import { TOPIC } from './builders.js';
import { claim } from './calls.js';
import type { ProviderUnderTest } from './harness.js';

type Subject = Pick<ProviderUnderTest, 'provider'>;

/** Far above what a hint takes on any store; only one that does not come is waited for this long. */
const LIMIT_MS = 2_000;

/** Keeps the hints a provider gives, and lets a case wait for the next. */
export class HintSignal<Hint = void> {
  readonly hints: Hint[] = [];
  /** Takes the listener away. */
  readonly stop: () => void;
  private waiting: (() => void) | undefined;

  constructor(subscribe: (listener: (hint: Hint) => void) => () => void) {
    this.stop = subscribe((hint) => {
      this.hints.push(hint);
      this.waiting?.();
    });
  }

  /** How many hints came so far. */
  get count(): number {
    return this.hints.length;
  }

  /** Waits until more hints came than `since`. @throws Error naming `cause` when none came in time */
  async after(since: number, cause: string): Promise<void> {
    if (this.count > since) return;
    await new Promise<void>((resolve, reject) => {
      const limit = setTimeout(
        () => reject(new Error(`No hint came within ${LIMIT_MS} ms after ${cause}.`)),
        LIMIT_MS,
      );
      this.waiting = () => {
        clearTimeout(limit);
        this.waiting = undefined;
        resolve();
      };
    });
  }
}

export const wakesOf = ({ provider }: Subject, topic = TOPIC): HintSignal =>
  new HintSignal((listener) => provider.onWake(topic, listener));

export const abortsOf = ({ provider }: Subject, topic = TOPIC): HintSignal<LeaseRef> =>
  new HintSignal((listener) => provider.onAbort(topic, listener));

/**
 * Claims, so that there is a forecast, then runs `act` and waits for the wake it must cause. What woke before that does
 * not count.
 */
export async function assertWakes(
  subject: Subject,
  cause: string,
  act: () => Promise<unknown>,
  request: Partial<ClaimRequest> = {},
): Promise<void> {
  const wakes = wakesOf(subject);
  try {
    const { claims } = await claim(subject, request);
    assert.deepEqual(claims, [], 'the case leaves something due');
    const before = wakes.count;
    await act();
    await wakes.after(before, cause);
  } finally {
    wakes.stop();
  }
}
