import assert from 'node:assert/strict';
import type { DelayQueueProvider } from '../../providers/delay-queue.provider.js';
import { aJob, LEASE_MS, TOPIC } from './builders.js';
import { claim, claimIds, claimOne, openSecond, schedule, scheduleOne } from './calls.js';
import { assertNothingDue } from './checks.js';
import type { ConformanceCase } from './harness.js';

/** Every method that answers with a promise, other than `open` and `close`. */
function everyCall(provider: DelayQueueProvider): Readonly<Record<string, () => Promise<unknown>>> {
  const lease = { id: 'job-1', token: 1 };
  return {
    add: () => provider.add(TOPIC, [aJob()]),
    'add of nothing': () => provider.add(TOPIC, []),
    cancel: () => provider.cancel(TOPIC, [{ id: 'job-1', abort: false }]),
    reschedule: () => provider.reschedule(TOPIC, [{ id: 'job-1', delayMs: 1, at: undefined }]),
    claim: () => provider.claim(TOPIC, { limit: 1, leaseMs: LEASE_MS }),
    settle: () => provider.settle(TOPIC, [{ ...lease, outcome: 'complete' }]),
    renew: () => provider.renew(TOPIC, [lease], LEASE_MS),
    get: () => provider.get(TOPIC, 'job-1'),
    find: () => provider.find(TOPIC, { state: 'pending', limit: 1 }),
    counts: () => provider.counts(TOPIC),
    topics: () => provider.topics(),
    setPaused: () => provider.setPaused(TOPIC, true),
    listDead: () => provider.listDead(TOPIC, { limit: 1 }),
    getDead: () => provider.getDead(TOPIC, 'x'),
    removeDead: () => provider.removeDead(TOPIC, ['x']),
    purgeDead: () => provider.purgeDead(TOPIC, { keepNewest: 0 }),
    readSettings: () => provider.readSettings(TOPIC),
    writeSetting: () => provider.writeSetting(TOPIC, 'a', '1'),
  };
}

async function assertClosed(provider: DelayQueueProvider): Promise<void> {
  for (const [method, call] of Object.entries(everyCall(provider))) {
    // By code, since a package loaded twice (as a module and by `require`) has two classes of that name.
    await assert.rejects(call, { name: 'ProviderClosedError', code: 'PROVIDER_CLOSED' }, method);
  }
}

export const lifecycleCases: readonly ConformanceCase[] = [
  {
    name: 'rejects every call after close with ProviderClosedError',
    run: async ({ provider }) => {
      await provider.close();

      await assertClosed(provider);
    },
  },
  {
    name: 'rejects every call before open with ProviderClosedError, and closes without a complaint',
    needs: ['unopened'],
    run: async (_, harness) => {
      const provider = harness.unopened?.();
      assert.ok(provider);

      await assertClosed(provider);
      await provider.close();
    },
  },
  {
    name: 'closes as often as it is asked to, also at the same time',
    run: async ({ provider }) => {
      await Promise.all([provider.close(), provider.close()]);
      await provider.close();

      await assertClosed(provider);
    },
  },
  {
    name: 'closes with jobs waiting, jobs in flight and listeners asleep, and leaves no alarm set',
    run: async (t) => {
      await schedule(t, { id: 'running' }, { id: 'waiting', delayMs: 1_000 });
      const stop = t.provider.onWake(TOPIC, () => undefined);
      await claim(t);

      await t.provider.close();

      if (t.clock.pendingAlarms !== undefined) assert.equal(t.clock.pendingAlarms, 0);
      stop();
    },
  },
  {
    name: 'answers or refuses calls that are under way when it is closed, and lets none hang',
    run: async (t) => {
      const calls = Object.values(everyCall(t.provider)).map((call) => call());
      const closing = t.provider.close();

      const outcomes = await Promise.allSettled(calls);
      await closing;

      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') {
          assert.ok(
            ['PROVIDER_CLOSED', 'STORE_UNAVAILABLE'].includes((outcome.reason as { code: string }).code),
          );
        }
      }
    },
  },
  {
    name: 'leaves the other instances open when one closes',
    needs: ['second-instance'],
    run: async (t) => {
      assert.ok(t.openSecond);
      const second = await t.openSecond();
      await scheduleOne(t);

      await second.close();

      await assertClosed(second);
      await claimOne(t);
    },
  },
  {
    // B049
    name: 'keeps jobs and their due times over the end of every instance',
    needs: ['durable', 'second-instance'],
    run: async (t) => {
      await schedule(t, { id: 'later', delayMs: 30_000 }, { id: 'running' });
      await claimOne(t, { leaseMs: 20_000 });
      await t.provider.close();
      t.clock.jump(19_999);

      const restarted = { ...t, ...(await openSecond(t)) };

      await assertNothingDue(restarted, 1);
      t.clock.jump(1);
      assert.equal((await claimOne(restarted)).attempt, 2);
      t.clock.jump(10_000);
      assert.deepEqual(await claimIds(restarted), ['later']);
    },
  },
];
