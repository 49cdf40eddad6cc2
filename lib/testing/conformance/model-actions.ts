import assert from 'node:assert/strict';
import type { DelayQueueProvider, LeaseRef, Settlement } from '../../providers/delay-queue.provider.js';
import { aJob, TOPIC } from './builders.js';
import type { ControllableClock } from './harness.js';
import { claim } from './model-claim.js';
import type { Action, AddedJob, End, Instance, Move, Real } from './model-history.js';
import { checkInspection } from './model-inspection.js';
import type { ReferenceStore } from './reference-store.js';

/** A renewal never ends a lease earlier than it would have; the longest lease of a claim is no longer. */
const RENEWAL_MS = 100;

/** Does the same to the provider and to the model, and compares what both answer. */
export async function perform(action: Action, model: ReferenceStore, real: Real): Promise<void> {
  if (action.do === 'jump') real.clock.jump(action.ms);
  else {
    const instance = real.instances[action.via % real.instances.length];
    assert.ok(instance);
    await performOn(instance, action, model, real);
  }
  await checkWakes(action, model, real);
}

async function performOn(
  instance: Instance,
  action: Exclude<Action, { do: 'jump' }>,
  model: ReferenceStore,
  real: Real,
): Promise<void> {
  const { provider } = instance;
  switch (action.do) {
    case 'add':
      return add(provider, action.jobs, model, real);
    case 'claim':
      return claim(instance, action, model, real);
    case 'settle':
      return settle(provider, action.ends, model);
    case 'renew': {
      const leases = pickLeases(action.leases, model);
      const statuses = await provider.renew(TOPIC, leases, RENEWAL_MS);
      return assert.deepEqual(
        statuses,
        leases.map((lease) => model.renew(lease, RENEWAL_MS)),
      );
    }
    case 'cancel': {
      const requests = distinct(action.requests, model);
      const statuses = await provider.cancel(TOPIC, requests);
      return assert.deepEqual(
        statuses,
        requests.map((request) => model.cancel(request)),
      );
    }
    case 'reschedule': {
      const moves = distinct(action.moves, model).map((move) => withAt(move, real.clock));
      const statuses = await provider.reschedule(TOPIC, moves);
      return assert.deepEqual(
        statuses,
        moves.map((move) => model.reschedule(move)),
      );
    }
    case 'pause':
      model.paused = action.paused;
      return provider.setPaused(TOPIC, action.paused);
    case 'inspect':
      return checkInspection(provider, model, real);
    default:
      return action satisfies never;
  }
}

async function add(
  provider: DelayQueueProvider,
  added: readonly AddedJob[],
  model: ReferenceStore,
  real: Real,
) {
  const jobs = added
    .filter(({ id }) => !model.isTangled(id))
    .map((job) => {
      const { id, ifExists, extras, delayMs, at } = { ...job, ...withAt(job, real.clock) };
      // The interface does not say from when a retried job's debounce counts.
      const maxWaitMs = model.pendingOf(id)?.everClaimed ? undefined : job.maxWaitMs;
      return aJob({ id, ifExists, extras, delayMs, at, maxWaitMs, payload: `${real.payloads++}` });
    });

  const results = await provider.add(TOPIC, jobs);

  const expected = jobs.map((job, index) => model.add(job, results[index]?.dueAt ?? NaN));
  assert.deepEqual(
    results.map(({ id, status, dueAt }) => ({ id, status, dueAt })),
    expected,
  );
}

async function settle(
  provider: DelayQueueProvider,
  ends: readonly End[],
  model: ReferenceStore,
): Promise<void> {
  const settlements = ends.flatMap(({ lease, outcome, delayMs, extras }): Settlement[] => {
    const [ref] = pickLeases([lease], model);
    if (!ref) return [];
    if (outcome === 'retry') return [{ ...ref, outcome, delayMs, extras }];
    return [outcome === 'dead-letter' ? { ...ref, outcome, extras } : { ...ref, outcome }];
  });

  const statuses = await provider.settle(TOPIC, settlements);

  assert.deepEqual(
    statuses,
    settlements.map((settlement) => model.settle(settlement)),
  );
}

/** Whoever sleeps as its last claim foretold must have been woken when a claim can succeed earlier now. */
async function checkWakes(action: Action, model: ReferenceStore, { clock, instances }: Real): Promise<void> {
  const soonest = Math.max(model.nextPlace(), clock.wallNow());
  for (const { foretoldAt, wakes, wakesBefore } of instances) {
    if (foretoldAt === undefined || soonest >= foretoldAt) continue;
    await wakes.after(
      wakesBefore,
      `${action.do}: a claim can succeed ${foretoldAt - soonest} ms before it was foretold`,
    );
  }
}

/** Leases by how long ago they were given; none whose answer the interface leaves open. */
function pickLeases(picks: readonly number[], model: ReferenceStore): readonly LeaseRef[] {
  return picks.flatMap((pick) => {
    const lease = model.leases.at(-1 - (pick % Math.max(1, model.leases.length)));
    return lease && !model.holderOf(lease)?.limbo ? [lease] : [];
  });
}

/** One request for an id, and none for an id that may mean two jobs. */
function distinct<Request extends { readonly id: string }>(
  requests: readonly Request[],
  model: ReferenceStore,
): readonly Request[] {
  const ids = requests.map(({ id }) => id);
  return requests.filter(({ id }, index) => ids.indexOf(id) === index && !model.isTangled(id));
}

function withAt({ id, delayMs, atInMs }: Move, clock: ControllableClock) {
  return { id, delayMs, at: atInMs === undefined ? undefined : clock.wallNow() + atInMs };
}
