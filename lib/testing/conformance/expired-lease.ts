import assert from 'node:assert/strict';
import { everySettlement, TOPIC } from './builders.js';
import {
  cancel,
  claimIds,
  claimOne,
  findAll,
  only,
  renew,
  reschedule,
  scheduleOne,
  settle,
} from './calls.js';
import { assertCounts, assertEmpty, assertNothingDue } from './checks.js';
import type { ConformanceCase, ProviderUnderTest } from './harness.js';

/** A job whose lease has expired and was not taken over. */
async function expiredLease(t: ProviderUnderTest) {
  await scheduleOne(t, { payload: 'old' });
  const lease = await claimOne(t, { leaseMs: 100 });
  t.clock.jump(200);
  return lease;
}

async function assertLost(t: ProviderUnderTest, lease: { id: string; token: number }): Promise<void> {
  for (const settlement of everySettlement(lease)) assert.equal(await settle(t, settlement), 'lease-lost');
  assert.equal(await renew(t, lease), 'lease-lost');
}

/** A job whose lease expired waits again, and so holds its id; whoever takes hold of it ends the old lease for good. */
export const expiredLeaseCases: readonly ConformanceCase[] = [
  {
    name: 'shows a job whose lease expired as pending, with the attempt that was lost counted',
    run: async (t) => {
      const lease = await expiredLease(t);

      const found = only(await findAll(t));
      assert.deepEqual([found.state, found.attempt, found.leaseExpiresAt], ['pending', 1, undefined]);
      assert.equal(found.dueAt, lease.dueAt);
      assert.deepEqual(await findAll(t, { state: 'in-flight' }), []);
      assert.equal((await t.provider.get(TOPIC, 'job-1'))?.state, 'pending');
    },
  },
  ...(['keep', 'reject'] as const).map((ifExists): ConformanceCase => ({
    name: `counts a job whose lease expired as pending for ifExists '${ifExists}'`,
    run: async (t) => {
      await expiredLease(t);

      const { status } = await scheduleOne(t, { payload: 'new', ifExists });

      assert.equal(status, ifExists === 'keep' ? 'kept' : 'exists');
      const claimed = await claimOne(t);
      assert.deepEqual([claimed.payload, claimed.attempt], ['old', 2]);
    },
  })),
  {
    name: 'replaces a job whose lease expired, and lets the old lease do nothing to the new contents',
    run: async (t) => {
      const lease = await expiredLease(t);

      assert.equal((await scheduleOne(t, { payload: 'new', ifExists: 'replace' })).status, 'replaced');

      await assertLost(t, lease);
      const claimed = await claimOne(t);
      assert.deepEqual([claimed.payload, claimed.attempt], ['new', 1]);
    },
  },
  {
    name: 'cancels a job whose lease expired, and with it the lease',
    run: async (t) => {
      const lease = await expiredLease(t);

      assert.equal(await cancel(t, 'job-1'), 'cancelled');

      await assertEmpty(t);
      await assertLost(t, lease);
      await assertNothingDue(t, -1);
    },
  },
  {
    name: 'reschedules a job whose lease expired, and ends the lease',
    run: async (t) => {
      const lease = await expiredLease(t);

      assert.equal(await reschedule(t, 'job-1', { delayMs: 1_000 }), 'rescheduled');

      await assertLost(t, lease);
      await assertCounts(t, { pending: 1, due: 0, inFlight: 0 });
      t.clock.jump(999);
      await assertNothingDue(t, 1);
      t.clock.jump(1);
      assert.equal((await claimOne(t)).attempt, 2);
    },
  },
  ...(['keep', 'replace', 'reject'] as const).map((ifExists): ConformanceCase => ({
    name: `runs a job scheduled with ifExists '${ifExists}' under the id of one that was cancelled in flight and lost its lease`,
    run: async (t) => {
      await scheduleOne(t, { payload: 'old' });
      await claimOne(t, { leaseMs: 100 });
      assert.equal(await cancel(t, 'job-1'), 'in-flight');
      t.clock.jump(200);

      const { status } = await scheduleOne(t, { payload: 'new', ifExists });

      assert.ok(status === 'scheduled' || (ifExists === 'replace' && status === 'replaced'), status);
      const claimed = await claimOne(t);
      assert.deepEqual([claimed.payload, claimed.attempt], ['new', 1]);
    },
  })),
  {
    name: 'does not revive by rescheduling a job that was cancelled in flight and lost its lease',
    run: async (t) => {
      await scheduleOne(t);
      await claimOne(t, { leaseMs: 100 });
      await cancel(t, 'job-1');
      t.clock.jump(200);

      assert.notEqual(await reschedule(t, 'job-1', { delayMs: 10 }), 'rescheduled');

      t.clock.jump(10);
      assert.deepEqual(await claimIds(t), []);
    },
  },
];
