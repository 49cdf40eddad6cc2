import assert from 'node:assert/strict';
import { complete, everySettlement, TOPIC } from './builders.js';
import { claim, claimOne, renew, schedule, scheduleOne, settle } from './calls.js';
import { assertCounts } from './checks.js';
import type { ConformanceCase } from './harness.js';

/** Who may not settle: the lease is gone, or was never theirs. */
export const staleTokenCases: readonly ConformanceCase[] = [
  ...everySettlement({ id: 'job-1', token: 0 }).map(({ outcome }, index): ConformanceCase => ({
    name: `answers lease-lost to any settling or renewal after ${outcome}, and changes nothing`,
    run: async (t) => {
      await scheduleOne(t, { payload: 'kept' });
      const lease = await claimOne(t);
      const first = everySettlement(lease)[index];
      assert.ok(first);
      assert.equal(await settle(t, first), 'settled');
      const before = [await t.provider.get(TOPIC, 'job-1'), await t.provider.counts(TOPIC)];

      for (const second of everySettlement(lease)) assert.equal(await settle(t, second), 'lease-lost');
      assert.equal(await renew(t, lease), 'lease-lost');

      assert.deepEqual([await t.provider.get(TOPIC, 'job-1'), await t.provider.counts(TOPIC)], before);
    },
  })),
  {
    name: 'answers lease-lost to a token that is not the latest of that job, and changes nothing',
    run: async (t) => {
      await schedule(t, { id: 'a' }, { id: 'b' }, { id: 'waiting', delayMs: 1_000 });
      const [a, b] = (await claim(t)).claims;
      assert.ok(a && b);

      for (const stale of [
        { id: a.id, token: b.token },
        { id: b.id, token: a.token },
        { id: a.id, token: 0 },
        { id: a.id, token: -1 },
        { id: a.id, token: Math.max(a.token, b.token) + 1 },
        { id: 'waiting', token: 0 },
        { id: 'waiting', token: a.token },
        { id: 'never', token: a.token },
      ]) {
        for (const settlement of everySettlement(stale))
          assert.equal(await settle(t, settlement), 'lease-lost');
        assert.equal(await renew(t, stale), 'lease-lost');
      }

      await assertCounts(t, { pending: 1, inFlight: 2, dead: 0 });
      assert.equal(await settle(t, complete(a)), 'settled');
      assert.equal(await settle(t, complete(b)), 'settled');
    },
  },
  {
    // B163
    name: 'answers lease-lost to the lease of an earlier job of the same id',
    run: async (t) => {
      await scheduleOne(t);
      const earlier = await claimOne(t);
      await settle(t, complete(earlier));
      await scheduleOne(t);
      const now = await claimOne(t);

      for (const settlement of everySettlement(earlier))
        assert.equal(await settle(t, settlement), 'lease-lost');

      assert.equal(await settle(t, complete(now)), 'settled');
    },
  },
  {
    name: 'settles a lease once when many settle it at the same time',
    run: async (t) => {
      await scheduleOne(t);
      const lease = await claimOne(t);

      const statuses = await Promise.all(
        [...everySettlement(lease), ...everySettlement(lease)].map((s) => settle(t, s)),
      );

      assert.equal(statuses.filter((status) => status === 'settled').length, 1);
    },
  },
];
