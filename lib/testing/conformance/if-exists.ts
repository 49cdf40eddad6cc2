import assert from 'node:assert/strict';
import { complete, deadLetter, retry, richExtras } from './builders.js';
import { cancel, claimOne, scheduleOne, settle } from './calls.js';
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
      assert.deepEqual({ ...again }, { id: 'job-1', status, dueAt: first.dueAt });
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

      assert.deepEqual({ ...later }, { id: 'job-1', status: 'replaced', dueAt: t.clock.wallNow() + 500 });
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
];
