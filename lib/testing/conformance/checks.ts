import assert from 'node:assert/strict';
import type { JobExtras } from '../../job.js';
import type { ClaimResult, TopicCounts } from '../../providers/delay-queue.provider.js';
import { claim } from './calls.js';
import { TOPIC } from './builders.js';
import type { ProviderUnderTest } from './harness.js';

/**
 * That a claim which found nothing more said when the next can succeed. The forecast may be shorter than the truth,
 * never longer; 0 would have a dispatcher ask again and again for nothing.
 */
export function assertForetells({ nextWakeInMs }: ClaimResult, truthMs: number): void {
  assert.ok(
    nextWakeInMs > 0 && nextWakeInMs <= truthMs,
    `nextWakeInMs is ${nextWakeInMs}; another claim can succeed in ${truthMs} ms`,
  );
}

/** That nothing can be claimed now, and that the forecast holds. */
export async function assertNothingDue(t: ProviderUnderTest, truthMs: number): Promise<void> {
  const result = await claim(t);
  assert.deepEqual(result.claims, []);
  if (truthMs === -1) assert.equal(result.nextWakeInMs, -1);
  else assertForetells(result, truthMs);
}

/** Compares as JSON, which is all a provider promises to keep; a key that is undefined counts as absent. */
export function assertSameExtras(
  actual: JobExtras | undefined,
  expected: JobExtras | undefined,
  stage: string,
): void {
  assert.deepEqual(asJson(actual), asJson(expected), `extras ${stage}`);
}

/** Compares the counts that are named. */
export async function assertCounts(
  t: Pick<ProviderUnderTest, 'provider'>,
  expected: Partial<TopicCounts>,
  topic = TOPIC,
): Promise<void> {
  const counts = await t.provider.counts(topic);
  const named = Object.keys(expected).map((key) => [key, counts[key as keyof TopicCounts]]);
  assert.deepEqual(Object.fromEntries(named), expected, `counts of "${topic}"`);
}

/** That no job and no dead letter is left. */
export async function assertEmpty(t: Pick<ProviderUnderTest, 'provider'>): Promise<void> {
  await assertCounts(t, { pending: 0, due: 0, headAgeMs: 0, inFlight: 0, dead: 0 });
}

/** That both hold the same names, in whatever order. */
export function assertSameNames(actual: readonly string[], expected: readonly string[]): void {
  assert.deepEqual(actual.toSorted(), expected.toSorted());
}

/** That each number is above the one before. */
export function assertRising(numbers: readonly number[]): void {
  numbers.forEach((number, index) => {
    const before = numbers[index - 1];
    if (before !== undefined)
      assert.ok(number > before, `${number} follows ${before} in ${numbers.join(', ')}`);
  });
}

function asJson(extras: JobExtras | undefined): unknown {
  return extras === undefined ? undefined : JSON.parse(JSON.stringify(extras));
}
