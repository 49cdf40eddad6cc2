import assert from 'node:assert/strict';
import { complete, deadLetter, everySettlement, LEASE_MS, manyJobs, release, retry } from './builders.js';
import { claim, claimOne, deadLetters, ids, only, renew, schedule, scheduleOne, settle } from './calls.js';
import { assertCounts, assertNothingDue } from './checks.js';
import type { ConformanceCase } from './harness.js';

/** What becomes of a job whose lease expired. */
export const takeoverCases: readonly ConformanceCase[] = [
  {
    name: 'hands a job out again when its lease expires, to the millisecond, as the next attempt',
    run: async (t) => {
      await scheduleOne(t, { payload: '"p"' });
      const first = await claimOne(t, { leaseMs: 500 });

      t.clock.jump(499);
      await assertNothingDue(t, 1);
      t.clock.jump(1);
      const second = await claimOne(t);

      assert.deepEqual([second.id, second.payload, second.attempt], ['job-1', '"p"', 2]);
      assert.deepEqual([second.dueAt, second.scheduledAt], [first.dueAt, first.scheduledAt]);
      assert.ok(second.token > first.token);
      assert.ok(second.lateMs >= 0);
    },
  },
  {
    // B071
    name: 'answers lease-lost to the old token after a takeover, and changes nothing',
    run: async (t) => {
      await scheduleOne(t);
      const old = await claimOne(t, { leaseMs: 100 });
      t.clock.jump(100);
      const now = await claimOne(t, { leaseMs: 1_000 });

      for (const settlement of everySettlement(old)) assert.equal(await settle(t, settlement), 'lease-lost');
      assert.equal(await renew(t, old, 60_000), 'lease-lost');

      await assertCounts(t, { pending: 0, inFlight: 1, dead: 0 });
      t.clock.jump(999);
      await assertNothingDue(t, 1);
      assert.equal(await settle(t, complete(now)), 'settled');
    },
  },
  ...everySettlement({ id: 'job-1', token: 0 }).map(({ outcome }, index): ConformanceCase => ({
    name: `settles with ${outcome} after the lease expired, as long as no claim took the job over`,
    run: async (t) => {
      await scheduleOne(t);
      const lease = await claimOne(t, { leaseMs: 100 });
      t.clock.jump(5_000);
      const settlement = everySettlement(lease)[index];
      assert.ok(settlement);

      assert.equal(await settle(t, settlement), 'settled');

      const back = outcome === 'retry' || outcome === 'release' ? 1 : 0;
      const dead = outcome === 'dead-letter' ? 1 : 0;
      await assertCounts(t, { pending: back, due: back, inFlight: 0, dead });
      assert.equal((await claim(t)).claims.length, back);
    },
  })),
  {
    // B053, B187
    name: 'counts every lost lease as an attempt, up to the dead letter',
    run: async (t) => {
      await scheduleOne(t);
      for (let attempt = 1; attempt < 5; attempt++) {
        assert.equal((await claimOne(t, { leaseMs: 10 })).attempt, attempt);
        t.clock.jump(10);
      }
      const last = await claimOne(t);

      await settle(t, deadLetter(last, { deadReason: 'crashed' }));

      assert.equal(only(await deadLetters(t)).attempts, 5);
    },
  },
  {
    name: 'releases a job that was taken over to the due time it had, with the lost attempt counted',
    run: async (t) => {
      await scheduleOne(t);
      const first = await claimOne(t, { leaseMs: 100 });
      t.clock.jump(100);
      const second = await claimOne(t);

      await settle(t, release(second));

      const third = await claimOne(t);
      assert.deepEqual([third.attempt, third.dueAt], [2, first.dueAt]);
    },
  },
  {
    name: 'retries a job that was taken over from the settling, not from the lost attempt',
    run: async (t) => {
      await scheduleOne(t);
      await claimOne(t, { leaseMs: 100 });
      t.clock.jump(100);
      await settle(t, retry(await claimOne(t), 1_000));

      t.clock.jump(999);
      await assertNothingDue(t, 1);
      t.clock.jump(1);
      assert.equal((await claimOne(t)).attempt, 3);
    },
  },
  {
    // B081
    name: 'gives an expired lease to one of many concurrent claims',
    run: async (t) => {
      await schedule(t, ...manyJobs(50));
      await claim(t, { leaseMs: 100 });
      t.clock.jump(100);

      const results = await Promise.all(Array.from({ length: 20 }, () => claim(t, { limit: 5 })));

      const claims = results.flatMap((result) => result.claims);
      assert.equal(new Set(ids(claims)).size, 50);
      assert.equal(claims.length, 50);
      assert.ok(claims.every(({ attempt }) => attempt === 2));
    },
  },
  {
    name: 'takes leases over in the order in which they expired, between the jobs due meanwhile',
    run: async (t) => {
      await scheduleOne(t, { id: 'long' });
      await claimOne(t, { leaseMs: LEASE_MS });
      await scheduleOne(t, { id: 'short' });
      await claimOne(t, { leaseMs: 1_000 });
      await schedule(t, { id: 'due-first', delayMs: 500 }, { id: 'due-between', delayMs: 2_000 });

      t.clock.jump(LEASE_MS);

      assert.deepEqual(ids((await claim(t)).claims), ['due-first', 'short', 'due-between', 'long']);
    },
  },
];
