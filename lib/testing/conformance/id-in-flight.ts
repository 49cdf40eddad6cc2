import assert from 'node:assert/strict';
import { complete, everySettlement, LEASE_MS, release, retry, TOPIC } from './builders.js';
import { claim, claimAllDue, claimOne, findAll, scheduleOne, settle } from './calls.js';
import { assertCounts } from './checks.js';
import type { ConformanceCase } from './harness.js';

/** An id that is scheduled again while its job runs. */
export const idInFlightCases: readonly ConformanceCase[] = [
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
