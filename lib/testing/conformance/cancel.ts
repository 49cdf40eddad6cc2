import assert from 'node:assert/strict';
import { aJob, complete, LEASE_MS, manyJobs, release, retry, TOPIC } from './builders.js';
import { cancel, claim, claimIds, claimOne, findAll, renew, schedule, scheduleOne, settle } from './calls.js';
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
    name: 'lets a job in flight complete after it was cancelled',
    run: async (t) => {
      await scheduleOne(t);
      const lease = await claimOne(t);

      assert.equal(await cancel(t, 'job-1'), 'in-flight');

      assert.equal((await t.provider.get(TOPIC, 'job-1'))?.state, 'in-flight');
      assert.equal(await settle(t, complete(lease)), 'settled');
      await assertEmpty(t);
    },
  },
  ...([retry, release] as const).map((end): ConformanceCase => ({
    name: `removes a job that was cancelled in flight when it ends with ${end === retry ? 'retry' : 'release'}`,
    run: async (t) => {
      await scheduleOne(t);
      const lease = await claimOne(t);
      await cancel(t, 'job-1');

      assert.equal(await settle(t, end(lease)), 'settled');

      await assertEmpty(t);
      assert.equal(await t.provider.get(TOPIC, 'job-1'), undefined);
      t.clock.jump(10 * LEASE_MS);
      await assertNothingDue(t, -1);
    },
  })),
  {
    name: 'does not hand out a job that was cancelled in flight and lost its lease',
    run: async (t) => {
      await scheduleOne(t);
      await claimOne(t, { leaseMs: 100 });
      assert.equal(await cancel(t, 'job-1'), 'in-flight');

      t.clock.jump(100);

      assert.deepEqual(await claimIds(t), []);
      t.clock.jump(10 * LEASE_MS);
      assert.deepEqual(await claimIds(t), []);
      await assertEmpty(t);
    },
  },
  {
    name: 'hands out what is due although cancelled jobs with lost leases are in the way',
    run: async (t) => {
      const jobs = manyJobs(20);
      await schedule(t, ...jobs);
      await claim(t, { leaseMs: 100 });
      await t.provider.cancel(
        TOPIC,
        jobs.map(({ id }) => ({ id, abort: false })),
      );
      await scheduleOne(t, { id: 'due', delayMs: 200 });

      t.clock.jump(200);

      assert.deepEqual(await claimIds(t, { limit: 1 }), ['due']);
    },
  },
  {
    name: 'tells the instance that runs the job to abort only when that was asked for',
    run: async (t) => {
      await schedule(t, { id: 'abort' }, { id: 'let-run' }, { id: 'untouched' });
      const { claims } = await claim(t);
      await t.provider.cancel(TOPIC, [
        { id: 'abort', abort: true },
        { id: 'let-run', abort: false },
      ]);

      const statuses = await t.provider.renew(TOPIC, claims, LEASE_MS);

      const byId = Object.fromEntries(claims.map(({ id }, index) => [id, statuses[index]]));
      assert.deepEqual(byId, { abort: 'abort', 'let-run': 'renewed', untouched: 'renewed' });
    },
  },
  {
    name: 'tells to abort when a second cancel asks for it, on every renewal from then on',
    run: async (t) => {
      await scheduleOne(t);
      const lease = await claimOne(t, { leaseMs: 1_000 });
      assert.equal(await cancel(t, 'job-1', false), 'in-flight');
      assert.equal(await renew(t, lease, 1_000), 'renewed');

      assert.equal(await cancel(t, 'job-1', true), 'in-flight');
      assert.equal(await cancel(t, 'job-1', false), 'in-flight');

      for (let renewals = 0; renewals < 3; renewals++) {
        t.clock.jump(900);
        assert.equal(await renew(t, lease, 1_000), 'abort');
      }
      assert.equal(await settle(t, complete(lease)), 'settled');
    },
  },
  {
    name: 'lets a new job of the id run after the one in flight was cancelled',
    run: async (t) => {
      await scheduleOne(t, { payload: 'old' });
      const old = await claimOne(t);
      await cancel(t, 'job-1', true);

      assert.equal((await scheduleOne(t, { payload: 'new' })).status, 'scheduled');

      const fresh = await claimOne(t);
      assert.equal(fresh.payload, 'new');
      assert.equal(await renew(t, fresh), 'renewed');
      assert.equal(await renew(t, old), 'abort');
      assert.equal(await settle(t, retry(old)), 'settled');
      assert.equal(await settle(t, retry(fresh)), 'settled');
      assert.equal((await claimOne(t)).payload, 'new');
    },
  },
  {
    name: 'cancels the pending job of an id, not the one in flight',
    run: async (t) => {
      await scheduleOne(t, { payload: 'old' });
      const old = await claimOne(t);
      await scheduleOne(t, { payload: 'new', delayMs: 100 });

      assert.equal(await cancel(t, 'job-1', true), 'cancelled');

      assert.equal(await renew(t, old), 'renewed');
      assert.equal(await settle(t, retry(old)), 'settled');
      assert.equal((await claimOne(t)).payload, 'old');
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
