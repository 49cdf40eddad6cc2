import assert from 'node:assert/strict';
import { complete, deadLetter, LEASE_MS, manyJobs, retry, TOPIC } from './builders.js';
import { claimAllDue, deadLetters, findAll, ids, schedule } from './calls.js';
import { assertCounts, assertEmpty } from './checks.js';
import type { ConformanceCase } from './harness.js';

/** Beyond what a Lua stack, an argument list or a reply holds when a provider forgets to cut its batches. */
const BATCH = 5_000;

/** Large numbers of jobs; what breaks in a store only then. */
export const volumeCases: readonly ConformanceCase[] = [
  {
    // B125
    name: 'takes 10 000 leases over that expired at once, each once, in chunks',
    run: async (t) => {
      await schedule(t, ...manyJobs(10_000));
      const first = await claimAllDue(t, { limit: 1_000, leaseMs: LEASE_MS });
      assert.equal(first.length, 10_000);
      t.clock.jump(LEASE_MS);

      const second = await claimAllDue(t, { limit: 700, leaseMs: LEASE_MS });

      assert.equal(second.length, 10_000);
      assert.equal(new Set(ids(second)).size, 10_000);
      assert.ok(second.every(({ attempt }) => attempt === 2));
      const stale = await t.provider.settle(TOPIC, first.map(complete));
      assert.deepEqual(new Set(stale), new Set(['lease-lost']));
      await assertCounts(t, { pending: 0, inFlight: 10_000 });
    },
  },
  {
    name: `schedules, moves and cancels ${BATCH} jobs in one call each`,
    run: async (t) => {
      const jobs = manyJobs(BATCH, () => ({ delayMs: 1_000 }));

      const added = await t.provider.add(TOPIC, jobs);
      assert.equal(added.length, BATCH);
      assert.ok(added.every(({ status }) => status === 'scheduled'));
      const moved = await t.provider.reschedule(
        TOPIC,
        jobs.map(({ id }) => ({ id, delayMs: 2_000, at: undefined })),
      );
      assert.ok(moved.every((status) => status === 'rescheduled'));
      assert.equal(new Set(ids(await findAll(t, { limit: 999 }))).size, BATCH);
      const cancelled = await t.provider.cancel(
        TOPIC,
        jobs.map(({ id }) => ({ id, abort: false })),
      );

      assert.equal(cancelled.length, BATCH);
      assert.ok(cancelled.every((status) => status === 'cancelled'));
      await assertEmpty(t);
    },
  },
  {
    name: `claims, renews and settles ${BATCH} jobs in one call each`,
    run: async (t) => {
      const scheduledAt = t.clock.wallNow();
      await t.provider.add(TOPIC, manyJobs(BATCH));
      t.clock.jump(5);

      const { claims } = await t.provider.claim(TOPIC, { limit: BATCH, leaseMs: LEASE_MS });
      assert.equal(claims.length, BATCH);
      assert.equal(new Set(ids(claims)).size, BATCH);
      for (const { id, payload, ...times } of claims) {
        assert.equal(`job-${payload}`, id);
        assert.deepEqual([times.dueAt, times.lateMs], [scheduledAt, 5]);
        // A store may tell apart what was scheduled in one millisecond by borrowing from the next ones.
        assert.ok(Math.abs(times.scheduledAt - scheduledAt) <= 10, `scheduledAt is ${times.scheduledAt}`);
      }
      const renewed = await t.provider.renew(TOPIC, claims, LEASE_MS);
      assert.equal(renewed.length, BATCH);
      assert.ok(renewed.every((status) => status === 'renewed'));
      const retried = await t.provider.settle(
        TOPIC,
        claims.map((lease) => retry(lease)),
      );
      assert.ok(retried.every((status) => status === 'settled'));
      const again = await claimAllDue(t, { limit: BATCH });
      const died = await t.provider.settle(
        TOPIC,
        again.map((lease) => deadLetter(lease)),
      );
      assert.ok(died.every((status) => status === 'settled'));

      const dead = await deadLetters(t, 999);
      assert.equal(dead.length, BATCH);
      assert.equal(
        await t.provider.removeDead(
          TOPIC,
          dead.map(({ deadLetterId }) => deadLetterId),
        ),
        BATCH,
      );
      await assertEmpty(t);
    },
  },
];
