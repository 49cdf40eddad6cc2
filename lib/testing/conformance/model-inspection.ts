import assert from 'node:assert/strict';
import type { DelayQueueProvider, StoredJob } from '../../providers/delay-queue.provider.js';
import { TOPIC } from './builders.js';
import { deadLetters, findAll } from './calls.js';
import { assertSameExtras } from './checks.js';
import type { ControllableClock } from './harness.js';
import type { ReferenceJob, ReferenceStore } from './reference-store.js';

/** Compares everything a provider can be asked about its jobs with the model. */
export async function checkInspection(
  provider: DelayQueueProvider,
  model: ReferenceStore,
  { clock, fifo }: { readonly clock: ControllableClock; readonly fifo: boolean },
): Promise<void> {
  const t = { provider };
  const pending = await findAll(t, { state: 'pending', limit: 3 });
  const inFlight = await findAll(t, { state: 'in-flight', limit: 3 });
  checkFound([...pending, ...inFlight], model);
  checkOrder(pending, model, fifo);
  checkOrder(inFlight, model, false);
  await checkCounts(provider, model, clock.wallNow());
  await checkIds(provider, model);
  const dead = await deadLetters(t, 3);
  assert.deepEqual(dead.map(({ payload }) => payload).toSorted(), model.dead.toSorted(), 'dead letters');
  dead.forEach(({ diedAt }, index) => assert.ok(diedAt >= (dead[index - 1]?.diedAt ?? 0), 'oldest first'));
}

/** Every job once, in the state it is in. */
function checkFound(found: readonly StoredJob[], model: ReferenceStore): void {
  const payloads = found.map(({ payload }) => payload);
  assert.equal(new Set(payloads).size, payloads.length, `a job was found twice among ${payloads.join()}`);
  for (const job of model.jobs) {
    const shown = found.find(({ payload }) => payload === job.payload);
    if (shown) checkJob(shown, job, model);
    else assert.ok(isOpen(job, model), `job ${job.payload} was not found`);
  }
  const known = new Set(model.jobs.map(({ payload }) => payload));
  assert.deepEqual(
    payloads.filter((payload) => !known.has(payload)),
    [],
    'jobs that are gone were found',
  );
}

function checkJob(shown: StoredJob, job: ReferenceJob, model: ReferenceStore): void {
  assert.deepEqual(
    [shown.id, shown.topic, shown.dueAt, shown.attempt],
    [job.id, TOPIC, job.dueAt, job.attempt],
  );
  assertSameExtras(shown.extras, job.extras, 'of a found job');
  if (isOpen(job, model)) return;
  const inFlight = model.isInFlight(job);
  const expected = inFlight ? ['in-flight', job.lease?.expiresAt] : ['pending', undefined];
  assert.deepEqual([shown.state, shown.leaseExpiresAt], expected);
}

function checkOrder(found: readonly StoredJob[], model: ReferenceStore, fifo: boolean): void {
  const sequenceOf = (shown: StoredJob): number | undefined => {
    const job = model.jobs.find(({ payload }) => payload === shown.payload);
    return fifo && job && !job.lease ? job.sequence : undefined;
  };
  found.forEach((job, index) => {
    for (const before of found.slice(0, index)) {
      assert.ok(before.dueAt <= job.dueAt, 'jobs were found out of due order');
      const [first, second] = [sequenceOf(before), sequenceOf(job)];
      if (before.dueAt === job.dueAt && first !== undefined && second !== undefined) {
        assert.ok(first < second, 'jobs of one due time were found out of the order of scheduling');
      }
    }
  });
}

async function checkCounts(provider: DelayQueueProvider, model: ReferenceStore, now: number): Promise<void> {
  const counts = await provider.counts(TOPIC);
  const sure = model.jobs.filter((job) => !isOpen(job, model));
  const open = model.jobs.length - sure.length;
  const waiting = sure.filter((job) => !model.isInFlight(job));
  const due = waiting.filter((job) => model.placeOf(job) <= now);
  const within = (actual: number, least: number, name: string): void =>
    assert.ok(actual >= least && actual <= least + open, `counts.${name} is ${actual}, not ${least}`);
  within(counts.pending, waiting.length, 'pending');
  within(counts.due, due.length, 'due');
  assert.equal(counts.inFlight, sure.length - waiting.length, 'counts.inFlight');
  assert.equal(counts.dead, model.dead.length, 'counts.dead');
  assert.equal(counts.paused, model.paused, 'counts.paused');
  if (open > 0 || due.some((job) => job.lease)) assert.ok(counts.headAgeMs >= 0);
  else
    assert.equal(counts.headAgeMs, Math.max(0, ...due.map(({ dueAt }) => now - dueAt)), 'counts.headAgeMs');
}

async function checkIds(provider: DelayQueueProvider, model: ReferenceStore): Promise<void> {
  for (const id of new Set([
    ...model.jobs.map((job) => job.id),
    ...model.leases.map((lease) => lease.id),
    'never',
  ])) {
    if (model.isTangled(id)) continue;
    const expected = model.pendingOf(id) ?? model.inFlightOf(id)[0];
    if (expected && isOpen(expected, model)) continue;
    assert.equal((await provider.get(TOPIC, id))?.payload, expected?.payload, `job named ${id}`);
  }
}

/** Cancelled in flight, its lease lost: gone or not yet, as the provider likes. */
function isOpen(job: ReferenceJob, model: ReferenceStore): boolean {
  return job.cancelled && model.isExpired(job);
}
