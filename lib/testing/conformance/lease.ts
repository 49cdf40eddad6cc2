import assert from 'node:assert/strict';
import { complete, manyJobs, TOPIC } from './builders.js';
import { claim, claimOne, renew, schedule, scheduleOne, settle } from './calls.js';
import { assertCounts, assertForetells, assertNothingDue } from './checks.js';
import type { ConformanceCase } from './harness.js';

export const leaseCases: readonly ConformanceCase[] = [
  {
    // B059
    name: 'starts a lease at the claim, however long the job waited',
    run: async (t) => {
      await scheduleOne(t, { delayMs: 60_000 });
      t.clock.jump(90_000);

      await claimOne(t, { leaseMs: 5_000 });

      t.clock.jump(4_999);
      await assertNothingDue(t, 1);
    },
  },
  {
    name: 'moves the expiry to `leaseMs` from the renewal',
    run: async (t) => {
      await scheduleOne(t);
      const lease = await claimOne(t, { leaseMs: 1_000 });
      t.clock.jump(700);

      assert.equal(await renew(t, lease, 1_000), 'renewed');

      t.clock.jump(999);
      await assertNothingDue(t, 1);
      t.clock.jump(1);
      assert.equal((await claimOne(t)).attempt, 2);
    },
  },
  {
    name: 'shortens a lease too',
    run: async (t) => {
      await scheduleOne(t);
      const lease = await claimOne(t, { leaseMs: 60_000 });

      assert.equal(await renew(t, lease, 10), 'renewed');

      assertForetells(await claim(t), 10);
      t.clock.jump(10);
      assert.equal((await claimOne(t)).attempt, 2);
    },
  },
  {
    // B077, B085
    name: 'keeps a job in flight over many renewals, as one attempt',
    run: async (t) => {
      await scheduleOne(t);
      const lease = await claimOne(t, { leaseMs: 1_000 });

      for (let renewals = 0; renewals < 20; renewals++) {
        t.clock.jump(900);
        assert.equal(await renew(t, lease, 1_000), 'renewed');
        await assertNothingDue(t, 1_000);
      }

      assert.equal((await t.provider.get(TOPIC, 'job-1'))?.attempt, 1);
      assert.equal(await settle(t, complete(lease)), 'settled');
    },
  },
  {
    name: 'renews after the lease expired, as long as no claim took the job over',
    run: async (t) => {
      await scheduleOne(t);
      const lease = await claimOne(t, { leaseMs: 100 });
      t.clock.jump(5_000);

      assert.equal(await renew(t, lease, 1_000), 'renewed');

      await assertNothingDue(t, 1_000);
      await assertCounts(t, { pending: 0, inFlight: 1 });
      assert.equal(await settle(t, complete(lease)), 'settled');
    },
  },
  {
    name: 'answers a batch of renewals in its own order',
    run: async (t) => {
      await schedule(t, ...manyJobs(3, (index) => ({ delayMs: index })));
      t.clock.jump(3);
      const [a, b, c] = (await claim(t, { leaseMs: 1_000 })).claims;
      assert.ok(a && b && c);
      await settle(t, complete(b));

      const statuses = await t.provider.renew(TOPIC, [c, b, a, { id: 'never', token: 1 }], 5_000);

      assert.deepEqual(statuses, ['renewed', 'lease-lost', 'renewed', 'lease-lost']);
      t.clock.jump(4_999);
      await assertNothingDue(t, 1);
    },
  },
];
