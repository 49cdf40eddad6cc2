import assert from 'node:assert/strict';
import { DAY_MS, manyJobs, TOPIC } from './builders.js';
import { claimAllDue, claimIds, ids, schedule, scheduleOne } from './calls.js';
import { assertNothingDue } from './checks.js';
import type { ConformanceCase } from './harness.js';

/** Of an order that has nothing to do with the index, whether compared as text or as a number. */
const unorderedId = (index: number): string =>
  `${['b', 'a', 'z', '10', '9'][index % 5]}${(index * 7919) % 1_000}:${index}`;

const SPREAD_MS = 100_000;

/** Spreads whole numbers over `SPREAD_MS`, the same in every run; few meet. */
const scattered = (index: number): number => (index * 7_919_777 + 13) % SPREAD_MS;

/** Which of the due jobs comes first. */
export const orderCases: readonly ConformanceCase[] = [
  {
    name: 'keeps one order between jobs given by `at` and by delay',
    run: async (t) => {
      const now = t.clock.wallNow();
      await schedule(
        t,
        { id: 'at-30', at: now + 30 },
        { id: 'delay-10', delayMs: 10 },
        { id: 'at-20', at: now + 20 },
        { id: 'delay-25', delayMs: 25 },
        { id: 'at-5', at: now + 5 },
      );

      t.clock.jump(30);

      assert.deepEqual(await claimIds(t), ['at-5', 'delay-10', 'at-20', 'delay-25', 'at-30']);
    },
  },
  {
    name: 'keeps the order of scheduling between `at` and delay jobs of the same due time',
    needs: ['fifo'],
    run: async (t) => {
      const at = t.clock.wallNow() + 10;
      for (const index of [0, 1, 2, 3, 4, 5]) {
        await scheduleOne(t, { id: `${index}`, ...(index % 2 ? { at } : { delayMs: 10 }) });
      }

      t.clock.jump(10);

      assert.deepEqual(await claimIds(t), ['0', '1', '2', '3', '4', '5']);
    },
  },
  {
    // B215
    name: 'hands out jobs in due order, whatever the order of scheduling',
    run: async (t) => {
      const delays = [100, 2, 10, 1, 9, 5_000_000_000, 0, 1_000, 99, 20, 3];
      await schedule(t, ...delays.map((delayMs) => ({ id: `${delayMs}`, delayMs })));

      t.clock.jump(5_000_000_000);

      const expected = delays.toSorted((a, b) => a - b).map(String);
      assert.deepEqual(await claimIds(t), expected);
    },
  },
  {
    // B213
    name: 'hands out 1 000 jobs of one due time in the order of scheduling, whatever their ids',
    needs: ['fifo'],
    run: async (t) => {
      const jobs = manyJobs(1_000, (index) => ({ id: unorderedId(index), delayMs: 10 }));
      for (let from = 0; from < jobs.length; from += 130) await schedule(t, ...jobs.slice(from, from + 130));

      t.clock.jump(10);

      assert.deepEqual(ids(await claimAllDue(t, { limit: 70 })), ids(jobs));
    },
  },
  {
    name: 'keeps due order over 2 000 jobs that come, move and go in no order',
    run: async (t) => {
      const dueIn = new Map<string, number>();
      const jobs = manyJobs(2_000, (index) => ({ delayMs: scattered(index) }));
      await schedule(t, ...jobs);
      for (const { id, delayMs } of jobs) dueIn.set(id, delayMs);
      const moves = jobs.filter((_, index) => index % 3 === 0);
      const moved = moves.map(({ id }, index) => ({ id, delayMs: scattered(index + 5_000), at: undefined }));
      await t.provider.reschedule(TOPIC, moved);
      for (const { id, delayMs } of moved) dueIn.set(id, delayMs);
      const gone = jobs.filter((_, index) => index % 7 === 0);
      await t.provider.cancel(
        TOPIC,
        gone.map(({ id }) => ({ id, abort: false })),
      );
      for (const { id } of gone) dueIn.delete(id);

      t.clock.jump(SPREAD_MS);

      const claimed = ids(await claimAllDue(t, { limit: 90 })).map((id) => dueIn.get(id));
      assert.deepEqual(
        claimed,
        [...dueIn.values()].toSorted((a, b) => a - b),
      );
    },
  },
  {
    // B003
    name: 'finds a due job behind thousands that are due in a year',
    run: async (t) => {
      await schedule(t, ...manyJobs(5_000, (index) => ({ delayMs: 365 * DAY_MS + index })));
      await schedule(t, { id: 'due', delayMs: 1_000 });

      await assertNothingDue(t, 1_000);
      t.clock.jump(1_000);

      assert.deepEqual(await claimIds(t, { limit: 5 }), ['due']);
    },
  },
];
