import assert from 'node:assert/strict';
import type { Claim, ClaimResult } from '../../providers/delay-queue.provider.js';
import { TOPIC } from './builders.js';
import { assertSameExtras } from './checks.js';
import type { Instance, Real } from './model-history.js';
import type { ReferenceJob, ReferenceStore } from './reference-store.js';

/** Claims, and takes what the provider handed out over into the model, if it may be handed out. */
export async function claim(
  instance: Instance,
  { limit, leaseMs }: { readonly limit: number; readonly leaseMs: number },
  model: ReferenceStore,
  real: Real,
): Promise<void> {
  const now = real.clock.wallNow();
  instance.wakesBefore = instance.wakes.count;
  const result = await instance.provider.claim(TOPIC, { limit, leaseMs });

  const due = model.paused ? [] : model.claimable().filter((job) => model.placeOf(job) <= now);
  assert.equal(result.claims.length, Math.min(limit, due.length), 'jobs claimed');
  const taken = result.claims.map((claimed) => {
    const job = due.find(({ payload }) => payload === claimed.payload);
    assert.ok(job, `claimed job ${claimed.id} with payload ${claimed.payload}, which is not due`);
    return job;
  });
  checkOrder(taken, due, model, real.fifo);
  model.passedByAClaim();
  const latest = Math.max(0, ...model.leases.map(({ token }) => token));
  result.claims.forEach((claimed, index) => take(claimed, taken[index], latest, now, leaseMs, model));
  checkForecast(result, limit, model, now);
  instance.foretoldAt = result.nextWakeInMs === -1 ? Infinity : now + result.nextWakeInMs;
}

function take(
  claimed: Claim,
  job: ReferenceJob | undefined,
  latestToken: number,
  now: number,
  leaseMs: number,
  model: ReferenceStore,
): void {
  assert.ok(job);
  const expired = job.lease !== undefined;
  assert.ok(claimed.token > latestToken, 'the token did not rise');
  assert.deepEqual([claimed.id, claimed.dueAt, claimed.attempt], [job.id, job.dueAt, job.attempt + 1]);
  if (expired) assert.ok(claimed.lateMs >= 0);
  else assert.equal(claimed.lateMs, now - job.dueAt);
  assertSameExtras(claimed.extras, job.extras, 'of a claim');
  job.attempt++;
  job.everClaimed = true;
  job.lease = { token: claimed.token, expiresAt: now + leaseMs };
  model.leases.push({ id: claimed.id, token: claimed.token });
}

/** No job before one that is due earlier; and, of jobs that never moved, none before one scheduled earlier. */
function checkOrder(
  taken: readonly ReferenceJob[],
  due: readonly ReferenceJob[],
  model: ReferenceStore,
  fifo: boolean,
): void {
  const sequenceOf = (job: ReferenceJob): number | undefined =>
    fifo && !job.lease ? job.sequence : undefined;
  taken.forEach((job, index) => {
    for (const behind of due) {
      if (taken.slice(0, index + 1).includes(behind)) continue;
      const facts = `job ${behind.payload} comes after job ${job.payload}`;
      assert.ok(model.placeOf(job) <= model.placeOf(behind), `${facts}, which is due later`);
      const [mine, theirs] = [sequenceOf(job), sequenceOf(behind)];
      if (model.placeOf(job) === model.placeOf(behind) && mine !== undefined && theirs !== undefined) {
        assert.ok(mine < theirs, `${facts}, which is due at the same time and was scheduled later`);
      }
    }
  });
}

function checkForecast(
  { claims, nextWakeInMs }: ClaimResult,
  limit: number,
  model: ReferenceStore,
  now: number,
): void {
  const truthMs = model.nextPlace() - now;
  const facts = `nextWakeInMs is ${nextWakeInMs}; another claim can succeed in ${truthMs} ms`;
  // What was cancelled in flight may shorten a forecast: it still has its place in the order.
  const mayBeShort = model.jobs.some((job) => job.cancelled);
  if (model.paused) assert.equal(nextWakeInMs, -1, facts);
  else if (truthMs <= 0) assert.equal(nextWakeInMs, 0, facts);
  else if (truthMs === Infinity) assert.ok(nextWakeInMs === -1 || (mayBeShort && nextWakeInMs >= 0), facts);
  else
    assert.ok(
      nextWakeInMs >= (claims.length < limit ? Number.MIN_VALUE : 0) && nextWakeInMs <= truthMs,
      facts,
    );
}
