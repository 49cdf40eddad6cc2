import assert from 'node:assert/strict';
import { complete, LEASE_MS, manyJobs, retry, TOPIC } from './builders.js';
import { cancel, claim, claimIds, claimOne, renew, schedule, scheduleOne, settle } from './calls.js';
import { assertCounts, assertForetells } from './checks.js';
import type { ConformanceCase } from './harness.js';

/** Pause, and the bound on leases. */
export const flowControlCases: readonly ConformanceCase[] = [
  {
    name: 'hands out nothing on a paused topic, and foretells -1',
    run: async (t) => {
      await schedule(t, { id: 'due' }, { id: 'soon', delayMs: 10 });
      await t.provider.setPaused(TOPIC, true);
      t.clock.jump(20);

      const { claims, nextWakeInMs } = await claim(t);

      assert.deepEqual([claims, nextWakeInMs], [[], -1]);
      await assertCounts(t, { paused: true, pending: 2, due: 2, headAgeMs: 20 });
    },
  },
  {
    name: 'hands out what came due meanwhile in due order once resumed, at the due times it had',
    run: async (t) => {
      await t.provider.setPaused(TOPIC, true);
      await schedule(t, { id: 'b', delayMs: 20 }, { id: 'a', delayMs: 10 });
      t.clock.jump(50);

      await t.provider.setPaused(TOPIC, false);

      const { claims } = await claim(t);
      assert.deepEqual(
        claims.map(({ id, lateMs }) => [id, lateMs]),
        [
          ['a', 40],
          ['b', 30],
        ],
      );
      await assertCounts(t, { paused: false });
    },
  },
  {
    name: 'settles, renews, cancels and schedules on a paused topic',
    run: async (t) => {
      await schedule(t, { id: 'a' }, { id: 'b' }, { id: 'c', delayMs: 10 });
      const [a, b] = (await claim(t)).claims;
      assert.ok(a && b);
      await t.provider.setPaused(TOPIC, true);

      assert.equal(await renew(t, a), 'renewed');
      assert.equal(await settle(t, complete(a)), 'settled');
      assert.equal(await settle(t, retry(b)), 'settled');
      assert.equal(await cancel(t, 'c'), 'cancelled');
      assert.equal((await scheduleOne(t, { id: 'd' })).status, 'scheduled');

      assert.deepEqual(await claimIds(t), []);
      await assertCounts(t, { pending: 2, due: 2, inFlight: 0 });
    },
  },
  {
    name: 'does not take over expired leases on a paused topic, and does once it is resumed',
    run: async (t) => {
      await scheduleOne(t);
      await claimOne(t, { leaseMs: 100 });
      await t.provider.setPaused(TOPIC, true);
      await t.provider.setPaused(TOPIC, true);
      t.clock.jump(100);

      assert.deepEqual(await claimIds(t), []);
      await t.provider.setPaused(TOPIC, false);
      assert.equal((await claimOne(t)).attempt, 2);
    },
  },
  {
    name: 'leaves other topics alone when one is paused',
    run: async (t) => {
      await scheduleOne(t);
      await t.provider.setPaused('other', true);

      await claimOne(t);
      await assertCounts(t, { paused: false });
    },
  },
  {
    name: 'claims no more than maxInFlight leases at once, counting those of earlier claims',
    run: async (t) => {
      t.clock.jump(1_000_000);
      await schedule(t, ...manyJobs(10));

      assert.equal((await claimIds(t, { maxInFlight: 3, limit: 2 })).length, 2);
      const second = await claim(t, { maxInFlight: 3 });

      assert.equal(second.claims.length, 1);
      assertForetells(second, LEASE_MS);
      assertForetells(await claim(t, { maxInFlight: 3 }), LEASE_MS);
      await assertCounts(t, { inFlight: 3, pending: 7 });
    },
  },
  {
    name: 'claims again as leases end, one for one',
    run: async (t) => {
      await schedule(t, ...manyJobs(6));
      const { claims } = await claim(t, { maxInFlight: 3 });

      await t.provider.settle(TOPIC, claims.slice(0, 2).map(complete));

      assert.equal((await claim(t, { maxInFlight: 3 })).claims.length, 2);
      assert.equal((await claim(t, { maxInFlight: 4 })).claims.length, 1);
    },
  },
  {
    name: 'does not count an expired lease, and takes it over once maxInFlight leaves room',
    run: async (t) => {
      await scheduleOne(t, { id: 'crashed' });
      await claimOne(t, { leaseMs: 100 });
      t.clock.jump(50);
      await schedule(t, { id: 'healthy' });
      const healthy = await claimOne(t);

      t.clock.jump(50);
      assertForetells(await claim(t, { maxInFlight: 1 }), LEASE_MS - 50);
      await t.provider.settle(TOPIC, [complete(healthy)]);

      assert.deepEqual(await claimIds(t, { maxInFlight: 1 }), ['crashed']);
      await schedule(t, ...manyJobs(3));
      assert.deepEqual(await claimIds(t, { maxInFlight: 1 }), []);
    },
  },
];
