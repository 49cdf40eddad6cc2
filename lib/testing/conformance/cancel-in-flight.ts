import assert from 'node:assert/strict';
import { complete, LEASE_MS, manyJobs, release, retry, TOPIC } from './builders.js';
import { cancel, claim, claimIds, claimOne, renew, schedule, scheduleOne, settle } from './calls.js';
import { assertEmpty, assertNothingDue } from './checks.js';
import type { ConformanceCase } from './harness.js';

/** Cancelling a job that runs. */
export const cancelInFlightCases: readonly ConformanceCase[] = [
  {
    name: 'lets a job in flight complete after it was cancelled',
    run: async (t) => {
      await scheduleOne(t);
      const lease = await claimOne(t);

      assert.equal(await cancel(t, 'job-1'), 'in-flight');

      assert.equal((await t.provider.get(TOPIC, 'job-1'))?.state, 'in-flight');
      assert.equal(await settle(t, complete(lease)), 'settled');
      await assertEmpty(t);
    },
  },
  ...([retry, release] as const).map((end): ConformanceCase => ({
    name: `removes a job that was cancelled in flight when it ends with ${end === retry ? 'retry' : 'release'}`,
    run: async (t) => {
      await scheduleOne(t);
      const lease = await claimOne(t);
      await cancel(t, 'job-1');

      assert.equal(await settle(t, end(lease)), 'settled');

      await assertEmpty(t);
      assert.equal(await t.provider.get(TOPIC, 'job-1'), undefined);
      t.clock.jump(10 * LEASE_MS);
      await assertNothingDue(t, -1);
    },
  })),
  {
    name: 'does not hand out a job that was cancelled in flight and lost its lease',
    run: async (t) => {
      await scheduleOne(t);
      await claimOne(t, { leaseMs: 100 });
      assert.equal(await cancel(t, 'job-1'), 'in-flight');

      t.clock.jump(100);

      assert.deepEqual(await claimIds(t), []);
      t.clock.jump(10 * LEASE_MS);
      assert.deepEqual(await claimIds(t), []);
      await assertEmpty(t);
    },
  },
  {
    name: 'hands out what is due although cancelled jobs with lost leases are in the way',
    run: async (t) => {
      const jobs = manyJobs(20);
      await schedule(t, ...jobs);
      await claim(t, { leaseMs: 100 });
      await t.provider.cancel(
        TOPIC,
        jobs.map(({ id }) => ({ id, abort: false })),
      );
      await scheduleOne(t, { id: 'due', delayMs: 200 });

      t.clock.jump(200);

      assert.deepEqual(await claimIds(t, { limit: 1 }), ['due']);
    },
  },
  {
    name: 'lets a new job of the id run after the one in flight was cancelled',
    run: async (t) => {
      await scheduleOne(t, { payload: 'old' });
      const old = await claimOne(t);
      await cancel(t, 'job-1', true);

      assert.equal((await scheduleOne(t, { payload: 'new' })).status, 'scheduled');

      const fresh = await claimOne(t);
      assert.equal(fresh.payload, 'new');
      assert.equal(await renew(t, fresh), 'renewed');
      assert.equal(await renew(t, old), 'abort');
      assert.equal(await settle(t, retry(old)), 'settled');
      assert.equal(await settle(t, retry(fresh)), 'settled');
      assert.equal((await claimOne(t)).payload, 'new');
    },
  },
  {
    name: 'cancels the pending job of an id, not the one in flight',
    run: async (t) => {
      await scheduleOne(t, { payload: 'old' });
      const old = await claimOne(t);
      await scheduleOne(t, { payload: 'new', delayMs: 100 });

      assert.equal(await cancel(t, 'job-1', true), 'cancelled');

      assert.equal(await renew(t, old), 'renewed');
      assert.equal(await settle(t, retry(old)), 'settled');
      assert.equal((await claimOne(t)).payload, 'old');
    },
  },
];
