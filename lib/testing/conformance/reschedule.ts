import assert from 'node:assert/strict';
import type { MoveRequest } from '../../providers/delay-queue.provider.js';
import { complete, DAY_MS, LEASE_MS, release, retry, richExtras, TOPIC } from './builders.js';
import { claimIds, claimOne, findAll, ids, reschedule, schedule, scheduleOne, settle } from './calls.js';
import { assertCounts, assertEmpty, assertNothingDue, assertSameExtras } from './checks.js';
import type { ConformanceCase } from './harness.js';

const move = (id: string, delayMs: number): MoveRequest => ({ id, delayMs, at: undefined });

export const rescheduleCases: readonly ConformanceCase[] = [
  {
    // B017
    name: 'moves a pending job later, and does not hand it out at the old due time',
    run: async (t) => {
      const scheduledAt = t.clock.wallNow();
      await scheduleOne(t, { payload: '"p"', delayMs: 300_000, extras: richExtras() });
      t.clock.jump(1_000);

      assert.equal(await reschedule(t, 'job-1', { delayMs: 100_800_000 }), 'rescheduled');

      const dueAt = t.clock.wallNow() + 100_800_000;
      assert.equal((await t.provider.get(TOPIC, 'job-1'))?.dueAt, dueAt);
      t.clock.jump(100_799_999);
      await assertNothingDue(t, 1);
      t.clock.jump(1);
      const claimed = await claimOne(t);
      assert.deepEqual(
        [claimed.payload, claimed.dueAt, claimed.scheduledAt, claimed.lateMs, claimed.attempt],
        ['"p"', dueAt, scheduledAt, 0, 1],
      );
      assertSameExtras(claimed.extras, richExtras(), 'after the move');
    },
  },
  {
    name: 'moves a pending job earlier',
    run: async (t) => {
      await schedule(t, { id: 'a', delayMs: 1_000 }, { id: 'b', delayMs: 500 });

      assert.equal(await reschedule(t, 'a', { delayMs: 100 }), 'rescheduled');

      t.clock.jump(99);
      await assertNothingDue(t, 1);
      t.clock.jump(1);
      assert.deepEqual(await claimIds(t), ['a']);
    },
  },
  {
    name: 'moves a job to an instant, past ones at once',
    run: async (t) => {
      await schedule(t, { id: 'soon', delayMs: DAY_MS }, { id: 'past', delayMs: DAY_MS });

      await reschedule(t, 'soon', { at: t.clock.wallNow() + 50, delayMs: 5 });
      await reschedule(t, 'past', { at: t.clock.wallNow() - DAY_MS });

      assert.deepEqual(await claimIds(t), ['past']);
      t.clock.jump(49);
      await assertNothingDue(t, 1);
      t.clock.jump(1);
      assert.deepEqual(await claimIds(t), ['soon']);
    },
  },
  {
    name: 'lets a moved job follow the kind of its new due time when the wall clock is set forward',
    needs: ['wall-steps'],
    run: async (t) => {
      const at = t.clock.wallNow() + 10_000;
      await schedule(t, { id: 'to-delay', at }, { id: 'to-at', delayMs: 10_000 });
      await reschedule(t, 'to-delay', { delayMs: 10_000 });
      await reschedule(t, 'to-at', { at });

      t.clock.stepWall(10_000);

      assert.deepEqual(await claimIds(t), ['to-at']);
      t.clock.jump(10_000);
      assert.deepEqual(await claimIds(t), ['to-delay']);
    },
  },
  {
    name: 'moves a job that is due and not yet claimed',
    run: async (t) => {
      await scheduleOne(t);
      t.clock.jump(10);

      assert.equal(await reschedule(t, 'job-1', { delayMs: 100 }), 'rescheduled');

      await assertNothingDue(t, 100);
    },
  },
  {
    name: 'moves a retried job that waits, and keeps its attempts',
    run: async (t) => {
      await scheduleOne(t);
      await settle(t, retry(await claimOne(t), 1_000, { maxAttempts: 3 }));

      assert.equal(await reschedule(t, 'job-1', { delayMs: 10 }), 'rescheduled');

      t.clock.jump(10);
      const claimed = await claimOne(t);
      assert.deepEqual([claimed.attempt, claimed.extras?.maxAttempts], [2, 3]);
    },
  },
  {
    name: 'changes nothing about a job in flight',
    run: async (t) => {
      await scheduleOne(t);
      const lease = await claimOne(t);
      const before = await t.provider.get(TOPIC, 'job-1');

      assert.equal(await reschedule(t, 'job-1', { delayMs: 0 }), 'in-flight');
      assert.equal(await reschedule(t, 'job-1', { delayMs: DAY_MS }), 'in-flight');

      assert.deepEqual(await t.provider.get(TOPIC, 'job-1'), before);
      t.clock.jump(LEASE_MS - 1);
      await assertNothingDue(t, 1);
      assert.equal(await settle(t, release(lease)), 'settled');
      assert.equal((await claimOne(t)).dueAt, lease.dueAt);
    },
  },
  {
    name: 'moves the pending job of an id, not the one in flight',
    run: async (t) => {
      await scheduleOne(t, { payload: 'old' });
      const old = await claimOne(t);
      await scheduleOne(t, { payload: 'new', delayMs: 100 });

      assert.equal(await reschedule(t, 'job-1', { delayMs: 10 }), 'rescheduled');

      t.clock.jump(10);
      assert.equal((await claimOne(t)).payload, 'new');
      assert.equal(await settle(t, complete(old)), 'settled');
    },
  },
  {
    // B175
    name: 'answers unknown for an id nobody scheduled or whose job is gone, with no later effect',
    run: async (t) => {
      assert.equal(await reschedule(t, 'job-1', { delayMs: 10 }), 'unknown');
      await assertEmpty(t);
      assert.deepEqual(await t.provider.topics(), []);

      await scheduleOne(t);
      await settle(t, complete(await claimOne(t)));
      assert.equal(await reschedule(t, 'job-1', { delayMs: 10 }), 'unknown');

      assert.equal((await scheduleOne(t, { delayMs: 100 })).status, 'scheduled');
      t.clock.jump(99);
      await assertNothingDue(t, 1);
    },
  },
  {
    // B219
    name: 'leaves one job after it was moved 1 000 times',
    run: async (t) => {
      await scheduleOne(t, { delayMs: 10 });
      for (let moves = 0; moves < 1_000; moves++) {
        await reschedule(t, 'job-1', { delayMs: 10 + ((moves * 37) % 500) });
      }
      await reschedule(t, 'job-1', { delayMs: 20 });

      await assertCounts(t, { pending: 1 });
      t.clock.jump(19);
      await assertNothingDue(t, 1);
      t.clock.jump(1_000);
      await claimOne(t);
    },
  },
  {
    name: 'answers a batch in its own order, and orders jobs by their new due times',
    run: async (t) => {
      await scheduleOne(t, { id: 'running' });
      await claimOne(t);
      await schedule(t, { id: 'a', delayMs: 10 }, { id: 'b', delayMs: 20 }, { id: 'c', delayMs: 30 });

      const statuses = await t.provider.reschedule(TOPIC, [
        move('a', 35),
        move('never', 1),
        move('running', 1),
        move('b', 40),
      ]);

      assert.deepEqual(statuses, ['rescheduled', 'unknown', 'in-flight', 'rescheduled']);
      assert.deepEqual(ids(await findAll(t)), ['c', 'a', 'b']);
      t.clock.jump(40);
      assert.deepEqual(await claimIds(t), ['c', 'a', 'b']);
    },
  },
];
