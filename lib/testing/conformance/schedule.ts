import assert from 'node:assert/strict';
import { DAY_MS, manyJobs, TOPIC } from './builders.js';
import { claim, claimAllDue, claimIds, claimOne, ids, schedule, scheduleOne } from './calls.js';
import { assertCounts, assertForetells, assertNothingDue, assertSameNames } from './checks.js';
import type { ConformanceCase } from './harness.js';

const TEN_YEARS_MS = 315_576_000_000;
const LONG_DELAYS_MS = [2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1, 2 ** 32, 1e10, 400 * DAY_MS, TEN_YEARS_MS];

export const scheduleCases: readonly ConformanceCase[] = [
  {
    name: 'answers a delay with the due time counted from now',
    run: async (t) => {
      t.clock.jump(1_234);

      const result = await scheduleOne(t, { delayMs: 5_000 });

      assert.deepEqual({ ...result }, { id: 'job-1', status: 'scheduled', dueAt: t.clock.wallNow() + 5_000 });
    },
  },
  {
    name: 'answers `at` with that instant, whatever the delay beside it',
    run: async (t) => {
      const at = t.clock.wallNow() + 10;

      const result = await scheduleOne(t, { at, delayMs: 60_000 });

      assert.deepEqual({ ...result }, { id: 'job-1', status: 'scheduled', dueAt: at });
      t.clock.jump(9);
      await assertNothingDue(t, 1);
      t.clock.jump(1);
      assert.equal((await claimOne(t)).dueAt, at);
    },
  },
  {
    name: 'has a job with delay 0 due at once',
    run: async (t) => {
      await scheduleOne(t);

      const { lateMs, attempt } = await claimOne(t);

      assert.deepEqual({ lateMs, attempt }, { lateMs: 0, attempt: 1 });
    },
  },
  {
    // B029
    name: 'has an `at` in the past due at once, and nothing held up behind it',
    run: async (t) => {
      await schedule(
        t,
        { id: 'old', at: t.clock.wallNow() - 29 * DAY_MS },
        { id: 'epoch', at: 0 },
        { id: 'next', delayMs: 1_000 },
      );

      const first = await claim(t);

      assertSameNames(ids(first.claims), ['epoch', 'old']);
      assertForetells(first, 1_000);
      assert.ok(first.claims.every(({ lateMs }) => lateMs >= 0));
      t.clock.jump(1_000);
      assert.deepEqual(await claimIds(t), ['next']);
    },
  },
  {
    // B013, B023, B035
    name: 'waits out delays beyond 2^31 - 1 ms, and of ten years, to the millisecond',
    run: async (t) => {
      await schedule(t, ...LONG_DELAYS_MS.map((delayMs) => ({ id: `${delayMs}`, delayMs })));

      let passedMs = 0;
      for (const delayMs of LONG_DELAYS_MS) {
        t.clock.jump(delayMs - 1 - passedMs);
        await assertNothingDue(t, 1);
        t.clock.jump(1);
        passedMs = delayMs;
        const claimed = await claimOne(t, { leaseMs: 2 * TEN_YEARS_MS });
        assert.deepEqual([claimed.id, claimed.lateMs], [`${delayMs}`, 0]);
      }
    },
  },
  {
    name: 'counts delays as well after 400 days of running as at the start',
    run: async (t) => {
      t.clock.jump(400 * DAY_MS);

      await scheduleOne(t, { delayMs: 7 });

      t.clock.jump(6);
      await assertNothingDue(t, 1);
      t.clock.jump(1);
      assert.equal((await claimOne(t)).lateMs, 0);
    },
  },
  {
    name: 'answers a batch in its own order, one answer a job',
    run: async (t) => {
      await schedule(t, { id: 'there', delayMs: 50 });
      const now = t.clock.wallNow();

      const results = await schedule(
        t,
        { id: 'new', delayMs: 10 },
        { id: 'there', delayMs: 20, ifExists: 'reject' },
        { id: 'there', delayMs: 30, ifExists: 'keep' },
        { id: 'new', delayMs: 40 },
        { id: 'there', delayMs: 60, ifExists: 'replace' },
      );

      assert.deepEqual(
        results.map(({ id, status, dueAt }) => [id, status, dueAt - now]),
        [
          ['new', 'scheduled', 10],
          ['there', 'exists', 50],
          ['there', 'kept', 50],
          ['new', 'kept', 10],
          ['there', 'replaced', 60],
        ],
      );
      await assertCounts(t, { pending: 2 });
    },
  },
  {
    name: 'answers an empty batch with an empty answer and stores nothing',
    run: async ({ provider }) => {
      assert.deepEqual(await provider.add(TOPIC, []), []);
      assert.deepEqual(await provider.cancel(TOPIC, []), []);
      assert.deepEqual(await provider.reschedule(TOPIC, []), []);
      assert.deepEqual(await provider.settle(TOPIC, []), []);
      assert.deepEqual(await provider.renew(TOPIC, [], 1_000), []);
      assert.equal(await provider.removeDead(TOPIC, []), 0);
      assert.deepEqual(await provider.topics(), []);
    },
  },
  {
    // B061
    name: 'hands out each of 1 000 jobs scheduled for now by single calls in one turn once',
    run: async (t) => {
      await Promise.all(manyJobs(1_000).map((job) => scheduleOne(t, job)));

      const claims = await claimAllDue(t);

      assert.equal(claims.length, 1_000);
      assert.equal(new Set(ids(claims)).size, 1_000);
    },
  },
];
