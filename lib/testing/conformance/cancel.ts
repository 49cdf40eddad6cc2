import assert from 'node:assert/strict';
import { aJob, complete, retry, TOPIC } from './builders.js';
import { cancel, claimIds, claimOne, findAll, renew, schedule, scheduleOne, settle } from './calls.js';
import { assertCounts, assertEmpty, assertNothingDue } from './checks.js';
import type { ConformanceCase } from './harness.js';

export const cancelCases: readonly ConformanceCase[] = [
  {
    name: 'removes a pending job for good',
    run: async (t) => {
      await scheduleOne(t, { delayMs: 100 });

      assert.equal(await cancel(t, 'job-1'), 'cancelled');

      assert.equal(await t.provider.get(TOPIC, 'job-1'), undefined);
      assert.deepEqual(await findAll(t), []);
      await assertEmpty(t);
      t.clock.jump(100);
      await assertNothingDue(t, -1);
    },
  },
  {
    name: 'removes a job that is due and not yet claimed',
    run: async (t) => {
      await schedule(t, { id: 'a' }, { id: 'b' });
      t.clock.jump(1_000);

      assert.equal(await cancel(t, 'a', true), 'cancelled');

      assert.deepEqual(await claimIds(t), ['b']);
    },
  },
  {
    name: 'frees the id at once',
    run: async (t) => {
      await scheduleOne(t, { payload: 'old', delayMs: 100 });
      await cancel(t, 'job-1');

      const again = await scheduleOne(t, { payload: 'new', delayMs: 200, ifExists: 'reject' });

      assert.equal(again.status, 'scheduled');
      t.clock.jump(199);
      await assertNothingDue(t, 1);
      t.clock.jump(1);
      assert.equal((await claimOne(t)).payload, 'new');
    },
  },
  {
    // B169
    name: 'answers unknown for an id nobody scheduled, and lets a later job of the id run',
    run: async (t) => {
      assert.equal(await cancel(t, 'job-1', true), 'unknown');
      assert.equal(await cancel(t, 'job-1'), 'unknown');

      await scheduleOne(t);

      const lease = await claimOne(t);
      assert.equal(await renew(t, lease), 'renewed');
      assert.equal(await settle(t, retry(lease)), 'settled');
      await claimOne(t);
    },
  },
  {
    name: 'answers unknown for a job that completed or was cancelled before',
    run: async (t) => {
      await scheduleOne(t, { id: 'done' });
      await settle(t, complete(await claimOne(t)));
      await scheduleOne(t, { id: 'gone', delayMs: 10 });
      await cancel(t, 'gone');

      assert.equal(await cancel(t, 'done'), 'unknown');
      assert.equal(await cancel(t, 'gone'), 'unknown');
    },
  },
  {
    name: 'removes a retried job that waits for its next attempt',
    run: async (t) => {
      await scheduleOne(t);
      await settle(t, retry(await claimOne(t), 100));

      assert.equal(await cancel(t, 'job-1'), 'cancelled');

      t.clock.jump(100);
      await assertNothingDue(t, -1);
    },
  },
  {
    name: 'answers a batch in its own order, the second of two requests for one id after the first',
    run: async (t) => {
      await t.provider.add(TOPIC, [aJob({ id: 'running' })]);
      await claimOne(t);
      await schedule(t, { id: 'a', delayMs: 10 }, { id: 'b', delayMs: 10 });

      const statuses = await t.provider.cancel(
        TOPIC,
        ['b', 'never', 'running', 'b', 'a'].map((id) => ({ id, abort: false })),
      );

      assert.deepEqual(statuses, ['cancelled', 'unknown', 'in-flight', 'unknown', 'cancelled']);
      await assertCounts(t, { pending: 0, inFlight: 1 });
    },
  },
];
