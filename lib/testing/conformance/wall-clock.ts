import assert from 'node:assert/strict';
import { claimIds, claimOne, reschedule, schedule, scheduleOne } from './calls.js';
import { assertNothingDue } from './checks.js';
import type { ConformanceCase } from './harness.js';
import { assertWakes } from './hint-signal.js';

/** Steps of the wall clock, which a machine makes when its clock is set. */
export const wallClockCases: readonly ConformanceCase[] = [
  {
    // B045
    name: 'has `at` jobs due by the new time when the wall clock is set forward, and no delay job',
    needs: ['wall-steps'],
    run: async (t) => {
      await schedule(t, { id: 'at', at: t.clock.wallNow() + 10_000 }, { id: 'delay', delayMs: 9_000 });

      t.clock.stepWall(10_000);

      assert.deepEqual(await claimIds(t), ['at']);
      t.clock.jump(8_999);
      await assertNothingDue(t, 1);
      t.clock.jump(1);
      assert.deepEqual(await claimIds(t), ['delay']);
    },
  },
  {
    name: 'holds `at` jobs back when the wall clock is set back, and no delay job',
    needs: ['wall-steps'],
    run: async (t) => {
      await schedule(t, { id: 'at', at: t.clock.wallNow() + 10_000 }, { id: 'delay', delayMs: 12_000 });

      t.clock.stepWall(-5_000);

      t.clock.jump(10_000);
      await assertNothingDue(t, 2_000);
      t.clock.jump(2_000);
      assert.deepEqual(await claimIds(t), ['delay']);
      t.clock.jump(2_999);
      await assertNothingDue(t, 1);
      t.clock.jump(1);
      assert.deepEqual(await claimIds(t), ['at']);
    },
  },
  {
    name: 'wakes when the wall clock is set forward past an `at`, whether scheduled or moved to it',
    needs: ['wall-steps'],
    run: async (t) => {
      const step = async (): Promise<void> => t.clock.stepWall(3_600_000);
      await scheduleOne(t, { id: 'moved', delayMs: 7_200_000 });
      await reschedule(t, 'moved', { at: t.clock.wallNow() + 3_600_000 });
      await assertWakes(t, 'the wall clock was set forward past a moved job', step);
      assert.equal((await claimOne(t)).id, 'moved');

      await scheduleOne(t, { id: 'scheduled', at: t.clock.wallNow() + 3_600_000 });
      await assertWakes(t, 'the wall clock was set forward past a scheduled job', step);
      assert.equal((await claimOne(t)).id, 'scheduled');
    },
  },
  {
    name: 'keeps a lease as long as it was given when the wall clock is set forward',
    needs: ['wall-steps'],
    run: async (t) => {
      await scheduleOne(t, { at: t.clock.wallNow() });
      await claimOne(t, { leaseMs: 5_000 });

      t.clock.stepWall(3_600_000);

      t.clock.jump(4_999);
      await assertNothingDue(t, 1);
      t.clock.jump(1);
      assert.equal((await claimOne(t)).attempt, 2);
    },
  },
];
