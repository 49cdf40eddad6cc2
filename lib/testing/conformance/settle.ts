import assert from 'node:assert/strict';
import { complete, deadLetter, LEASE_MS, manyJobs, release, retry, richExtras, TOPIC } from './builders.js';
import {
  claim,
  claimIds,
  claimOne,
  deadLetters,
  ids,
  only,
  renew,
  schedule,
  scheduleOne,
  settle,
} from './calls.js';
import { assertCounts, assertEmpty, assertNothingDue, assertSameExtras } from './checks.js';
import type { ConformanceCase } from './harness.js';

export const settleCases: readonly ConformanceCase[] = [
  {
    name: 'removes a completed job for good',
    run: async (t) => {
      await scheduleOne(t);
      const lease = await claimOne(t);

      assert.equal(await settle(t, complete(lease)), 'settled');

      assert.equal(await t.provider.get(TOPIC, 'job-1'), undefined);
      await assertEmpty(t);
      t.clock.jump(10 * LEASE_MS);
      await assertNothingDue(t, -1);
    },
  },
  {
    name: 'has a retried job due `delayMs` from the settling, with the new extras and the next attempt',
    run: async (t) => {
      const scheduledAt = t.clock.wallNow();
      await scheduleOne(t, { extras: { maxAttempts: 3 } });
      const lease = await claimOne(t);
      t.clock.jump(40);
      const extras = richExtras({
        lastError: { name: 'TypeError', message: 'no', stack: 'at x' },
        firstDueAt: 1,
      });

      assert.equal(await settle(t, retry(lease, 1_000, extras)), 'settled');

      t.clock.jump(999);
      await assertNothingDue(t, 1);
      t.clock.jump(1);
      const again = await claimOne(t);
      assert.deepEqual(
        [again.attempt, again.dueAt, again.scheduledAt, again.lateMs],
        [2, scheduledAt + 1_040, scheduledAt, 0],
      );
      assertSameExtras(again.extras, extras, 'after the retry');
    },
  },
  {
    name: 'has a job retried with delay 0 due at once',
    run: async (t) => {
      await scheduleOne(t);

      for (let attempt = 1; attempt <= 20; attempt++) {
        const lease = await claimOne(t);
        assert.equal(lease.attempt, attempt);
        await settle(t, retry(lease));
      }
    },
  },
  {
    name: 'keeps a dead letter instead of the job',
    run: async (t) => {
      await scheduleOne(t);
      const lease = await claimOne(t);

      assert.equal(await settle(t, deadLetter(lease, { deadReason: 'handler-request' })), 'settled');

      assert.equal(await t.provider.get(TOPIC, 'job-1'), undefined);
      await assertCounts(t, { pending: 0, inFlight: 0, dead: 1 });
      await assertNothingDue(t, -1);
      assert.equal(only(await deadLetters(t)).extras?.deadReason, 'handler-request');
    },
  },
  {
    name: 'puts a released job back at its due time, the attempt not counted',
    run: async (t) => {
      const extras = richExtras();
      await scheduleOne(t, { delayMs: 10, extras });
      t.clock.jump(10);
      const lease = await claimOne(t);
      t.clock.jump(50);

      assert.equal(await settle(t, release(lease)), 'settled');

      assert.equal((await t.provider.get(TOPIC, 'job-1'))?.attempt, 0);
      const again = await claimOne(t);
      assert.deepEqual([again.attempt, again.dueAt, again.lateMs], [1, lease.dueAt, 50]);
      assertSameExtras(again.extras, extras, 'after the release');
    },
  },
  {
    name: 'puts released jobs back in their order, before those that were behind them',
    needs: ['fifo'],
    run: async (t) => {
      await schedule(t, ...manyJobs(6));
      const { claims } = await claim(t, { limit: 4 });

      await t.provider.settle(TOPIC, claims.toReversed().map(release));

      assert.deepEqual(await claimIds(t), ['job-0', 'job-1', 'job-2', 'job-3', 'job-4', 'job-5']);
    },
  },
  {
    name: 'releases a retried job to the due time of its retry, with the attempts before still counted',
    run: async (t) => {
      await scheduleOne(t);
      await settle(t, retry(await claimOne(t), 100));
      t.clock.jump(100);
      const second = await claimOne(t);

      await settle(t, release(second));

      const again = await claimOne(t);
      assert.deepEqual([again.attempt, again.dueAt], [2, second.dueAt]);
    },
  },
  {
    // B183
    name: 'counts attempts over failures, lost leases and releases: all but the releases',
    run: async (t) => {
      await scheduleOne(t);
      const attempts: number[] = [];
      for (const end of ['retry', 'lost', 'release', 'lost', 'release', 'retry', 'retry']) {
        const lease = await claimOne(t);
        attempts.push(lease.attempt);
        if (end === 'lost') t.clock.jump(LEASE_MS);
        else await settle(t, end === 'retry' ? retry(lease) : release(lease));
      }

      assert.deepEqual(attempts, [1, 2, 3, 3, 4, 4, 5]);
      assert.equal((await claimOne(t)).attempt, 6);
    },
  },
  {
    name: 'answers a batch in its own order, each outcome on its own',
    run: async (t) => {
      await schedule(t, ...manyJobs(5, (index) => ({ delayMs: index })));
      t.clock.jump(5);
      const [a, b, c, d, e] = (await claim(t)).claims;
      assert.ok(a && b && c && d && e);

      const statuses = await t.provider.settle(TOPIC, [
        retry(d, 100),
        { ...complete(b), token: b.token + 1_000_000 },
        complete(a),
        complete(a),
        deadLetter(b),
        { ...release(c), id: 'never' },
        release(c),
      ]);

      const expected = ['settled', 'lease-lost', 'settled', 'lease-lost', 'settled', 'lease-lost', 'settled'];
      assert.deepEqual(statuses, expected);
      await assertCounts(t, { pending: 2, due: 1, inFlight: 1, dead: 1 });
      assert.deepEqual(ids((await claim(t)).claims), [c.id]);
      assert.equal(await renew(t, e), 'renewed');
    },
  },
];
