import assert from 'node:assert/strict';
import {
  complete,
  deadLetter,
  everySettlement,
  LEASE_MS,
  release,
  retry,
  richExtras,
  TOPIC,
} from './builders.js';
import { cancel, claim, claimAllDue, claimOne, findAll, schedule, scheduleOne, settle } from './calls.js';
import { assertCounts, assertNothingDue, assertSameExtras } from './checks.js';
import type { ConformanceCase } from './harness.js';

/** What becomes of an id that is scheduled again. */
export const ifExistsCases: readonly ConformanceCase[] = [
  ...(['keep', 'reject'] as const).map((ifExists): ConformanceCase => ({
    name: `leaves the pending job as it was with ifExists '${ifExists}', and answers its due time`,
    run: async (t) => {
      const first = await scheduleOne(t, { payload: 'old', delayMs: 100, extras: richExtras() });
      t.clock.jump(10);

      const again = await scheduleOne(t, { payload: 'new', delayMs: 5, ifExists });

      const status = ifExists === 'keep' ? 'kept' : 'exists';
      assert.deepEqual({ ...again }, { status, dueAt: first.dueAt });
      t.clock.jump(89);
      await assertNothingDue(t, 1);
      t.clock.jump(1);
      const claimed = await claimOne(t);
      assert.equal(claimed.payload, 'old');
      assertSameExtras(claimed.extras, richExtras(), 'of the kept job');
    },
  })),
  {
    name: "gives the pending job a new payload, due time and extras with ifExists 'replace'",
    run: async (t) => {
      await scheduleOne(t, { payload: 'old', delayMs: 100, extras: richExtras() });
      t.clock.jump(10);

      const later = await scheduleOne(t, { payload: 'new', delayMs: 500, ifExists: 'replace' });

      assert.deepEqual({ ...later }, { status: 'replaced', dueAt: t.clock.wallNow() + 500 });
      t.clock.jump(499);
      await assertNothingDue(t, 1);
      t.clock.jump(1);
      const claimed = await claimOne(t);
      assert.deepEqual([claimed.payload, claimed.dueAt, claimed.extras], ['new', later.dueAt, undefined]);
      await settle(t, complete(claimed));
      await assertCounts(t, { pending: 0, inFlight: 0 });
    },
  },
  {
    name: 'moves a replaced job earlier too, and to an `at`',
    run: async (t) => {
      await scheduleOne(t, { delayMs: 1_000 });
      await scheduleOne(t, { at: t.clock.wallNow() + 10, ifExists: 'replace' });

      t.clock.jump(10);

      assert.equal((await claimOne(t)).lateMs, 0);
    },
  },
  {
    name: 'counts the attempts of a replaced job from zero',
    run: async (t) => {
      await scheduleOne(t);
      await settle(t, retry(await claimOne(t), 100, { lastError: { name: 'Error', message: 'no' } }));

      assert.equal((await scheduleOne(t, { ifExists: 'replace', payload: 'new' })).status, 'replaced');

      const claimed = await claimOne(t);
      assert.deepEqual([claimed.attempt, claimed.payload, claimed.extras], [1, 'new', undefined]);
    },
  },
  {
    name: 'bounds a debounce: the due time never moves past maxWaitMs after the id was first scheduled',
    run: async (t) => {
      const first = t.clock.wallNow();
      const debounce = { delayMs: 300, maxWaitMs: 1_000, ifExists: 'replace' } as const;
      const dueAfterMs: number[] = [];

      for (let pass = 0; pass < 6; pass++) {
        dueAfterMs.push((await scheduleOne(t, debounce)).dueAt - first);
        t.clock.jump(200);
      }

      assert.deepEqual(dueAfterMs, [300, 500, 700, 900, 1_000, 1_000]);
      assert.equal((await claimOne(t)).lateMs, 200);
      const next = await scheduleOne(t, debounce);
      assert.equal(next.status, 'scheduled');
      assert.equal(next.dueAt, t.clock.wallNow() + 300);
    },
  },
  {
    name: 'has a debounced job due at once when maxWaitMs is over',
    run: async (t) => {
      await scheduleOne(t, { delayMs: 100 });
      t.clock.jump(250);

      const result = await scheduleOne(t, { delayMs: 100, maxWaitMs: 200, ifExists: 'replace' });

      assert.equal(result.status, 'replaced');
      assert.ok(result.dueAt <= t.clock.wallNow());
      await claimOne(t);
    },
  },
  {
    // B161, B069
    name: 'accepts one of 50 concurrent calls with the same id, and tells the others',
    run: async (t) => {
      const calls = Array.from({ length: 50 }, (_, index) =>
        scheduleOne(t, { payload: `${index}`, delayMs: index }),
      );
      const statuses = (await Promise.all(calls)).map(({ status }) => status);

      assert.equal(statuses.filter((status) => status === 'scheduled').length, 1);
      assert.equal(statuses.filter((status) => status === 'kept').length, 49);
      await assertCounts(t, { pending: 1 });
    },
  },
  {
    // B167, B163
    name: 'frees the id once its job completed, died or was cancelled',
    run: async (t) => {
      for (const end of [complete, deadLetter]) {
        await scheduleOne(t);
        await settle(t, end(await claimOne(t)));
        assert.equal((await scheduleOne(t, { ifExists: 'reject', delayMs: 10 })).status, 'scheduled');
        assert.equal(await cancel(t, 'job-1'), 'cancelled');
      }
      assert.equal((await scheduleOne(t, { ifExists: 'reject' })).status, 'scheduled');
      assert.equal((await claimOne(t)).attempt, 1);
    },
  },
  ...(['keep', 'replace', 'reject'] as const).map((ifExists): ConformanceCase => ({
    name: `schedules a new job with ifExists '${ifExists}' under the id of a job in flight`,
    run: async (t) => {
      await scheduleOne(t, { payload: 'old' });
      const running = await claimOne(t);

      const { status } = await scheduleOne(t, { payload: 'new', ifExists });

      assert.equal(status, 'scheduled');
      const second = await claimOne(t);
      assert.deepEqual([second.payload, second.attempt], ['new', 1]);
      assert.equal(await settle(t, complete(running)), 'settled');
      assert.equal(await settle(t, complete(second)), 'settled');
      await assertCounts(t, { pending: 0, inFlight: 0 });
    },
  })),
  ...everySettlement({ id: 'job-1', token: 0 }).map(({ outcome }, index): ConformanceCase => ({
    name: `leaves the new job of the id alone when the old one in flight ends with ${outcome}`,
    run: async (t) => {
      await scheduleOne(t, { payload: 'old' });
      const running = await claimOne(t);
      const fresh = await scheduleOne(t, { payload: 'new', delayMs: 50 });

      const settlement = everySettlement(running)[index];
      assert.ok(settlement);
      assert.equal(await settle(t, settlement), 'settled');

      const named = await t.provider.get(TOPIC, 'job-1');
      assert.deepEqual([named?.payload, named?.dueAt, named?.attempt], ['new', fresh.dueAt, 0]);
      t.clock.jump(50);
      const payloads = (await claim(t)).claims.map(({ payload }) => payload);
      const back = outcome === 'retry' || outcome === 'release';
      assert.deepEqual(payloads, back ? ['old', 'new'] : ['new']);
    },
  })),
  {
    // B177
    name: 'keeps and runs two retried jobs of one id',
    run: async (t) => {
      await scheduleOne(t, { payload: 'first' });
      const first = await claimOne(t);
      await scheduleOne(t, { payload: 'second' });
      const second = await claimOne(t);

      assert.equal(await settle(t, retry(first, 10)), 'settled');
      assert.equal(await settle(t, retry(second, 20)), 'settled');

      assert.equal((await findAll(t)).length, 2);
      t.clock.jump(20);
      const claims = await claimAllDue(t, { limit: 1, leaseMs: LEASE_MS });
      assert.deepEqual(
        claims.map(({ payload, attempt }) => [payload, attempt]),
        [
          ['first', 2],
          ['second', 2],
        ],
      );
      for (const lease of claims) assert.equal(await settle(t, complete(lease)), 'settled');
      await assertCounts(t, { pending: 0, inFlight: 0 });
    },
  },
  {
    name: 'releases a job whose id was taken meanwhile to its place before the other',
    run: async (t) => {
      await scheduleOne(t, { payload: 'old' });
      const running = await claimOne(t);
      t.clock.jump(5);
      await scheduleOne(t, { payload: 'new' });

      await settle(t, release(running));

      const { claims } = await claim(t);
      assert.deepEqual(
        claims.map(({ payload, attempt }) => [payload, attempt]),
        [
          ['old', 1],
          ['new', 1],
        ],
      );
    },
  },
];
