import assert from 'node:assert/strict';
import { complete, LEASE_MS, manyJobs, release, retry, TOPIC } from './builders.js';
import {
  cancel,
  claim,
  claimOne,
  ids,
  openSecond,
  renew,
  reschedule,
  schedule,
  scheduleOne,
  settle,
} from './calls.js';
import { assertCounts, assertRising } from './checks.js';
import type { ConformanceCase } from './harness.js';
import { assertWakes } from './hint-signal.js';

/** What only a store that several instances share can get wrong. */
const cases: readonly Omit<ConformanceCase, 'needs'>[] = [
  {
    // B065, B211
    name: 'gives each job to one of two instances that claim at the same time',
    run: async (t) => {
      const second = await openSecond(t);
      await schedule(t, ...manyJobs(500));

      const claiming = Array.from({ length: 50 }, (_, index) => claim(index % 2 ? t : second, { limit: 20 }));
      const claims = (await Promise.all(claiming)).flatMap((result) => result.claims);

      assert.equal(claims.length, 500);
      assert.equal(new Set(ids(claims)).size, 500);
      assert.equal(new Set(claims.map(({ token }) => token)).size, 500);
    },
  },
  {
    name: 'lets tokens rise over the claims of both instances',
    run: async (t) => {
      const second = await openSecond(t);
      const tokens: number[] = [];
      for (let pass = 0; pass < 6; pass++) {
        await scheduleOne(t, { id: `${pass}` });
        tokens.push((await claimOne(pass % 2 ? t : second)).token);
      }

      assertRising(tokens);
    },
  },
  {
    name: 'shows what one instance stored to the other at once',
    run: async (t) => {
      const second = await openSecond(t);
      await scheduleOne(t, { delayMs: 100 });

      assert.equal((await scheduleOne(second, { delayMs: 5 })).status, 'kept');
      assert.equal(await reschedule(second, 'job-1', { delayMs: 10 }), 'rescheduled');
      assert.equal((await t.provider.get(TOPIC, 'job-1'))?.dueAt, t.clock.wallNow() + 10);
      await second.provider.setPaused(TOPIC, true);
      t.clock.jump(10);
      await assertCounts(t, { pending: 1, due: 1, paused: true });
      assert.deepEqual((await claim(t)).claims, []);
      await t.provider.setPaused(TOPIC, false);
      await claimOne(second);
    },
  },
  {
    name: 'lets one instance take over from the other, whose token is lost then',
    run: async (t) => {
      const second = await openSecond(t);
      await scheduleOne(t);
      const lost = await claimOne(t, { leaseMs: 100 });
      t.clock.jump(100);

      const takenOver = await claimOne(second);

      assert.equal(takenOver.attempt, 2);
      assert.equal(await settle(t, retry(lost)), 'lease-lost');
      assert.equal(await renew(t, lost), 'lease-lost');
      assert.equal(await settle(second, complete(takenOver)), 'settled');
    },
  },
  {
    name: 'lets any instance settle or renew a lease, the token being the proof',
    run: async (t) => {
      const second = await openSecond(t);
      await scheduleOne(t);
      const lease = await claimOne(t);

      assert.equal(await renew(second, lease), 'renewed');
      assert.equal(await settle(second, complete(lease)), 'settled');
      assert.equal(await settle(t, complete(lease)), 'lease-lost');
    },
  },
  {
    // B171
    name: 'tells the instance that runs a job of a cancel asked for at the other',
    run: async (t) => {
      const second = await openSecond(t);
      await scheduleOne(t);
      const lease = await claimOne(t);

      assert.equal(await cancel(second, 'job-1', true), 'in-flight');

      assert.equal(await renew(t, lease), 'abort');
      assert.equal(await settle(t, retry(lease)), 'settled');
      assert.deepEqual([...(await claim(second)).claims], []);
    },
  },
  {
    // B161
    name: 'accepts an id once when both instances schedule it at the same time',
    run: async (t) => {
      const second = await openSecond(t);

      const calls = Array.from({ length: 50 }, (_, index) => scheduleOne(index % 2 ? t : second));
      const statuses = (await Promise.all(calls)).map(({ status }) => status);

      assert.equal(statuses.filter((status) => status === 'scheduled').length, 1);
    },
  },
  {
    name: 'counts maxInFlight and the rate over both instances',
    run: async (t) => {
      const second = await openSecond(t);
      await schedule(t, ...manyJobs(20));

      assert.equal((await claim(t, { maxInFlight: 3 })).claims.length, 3);
      assert.equal((await claim(second, { maxInFlight: 4 })).claims.length, 1);
      const rate = { limit: 1, perMs: 1_000, burst: 2 };
      assert.equal((await claim(t, { rate })).claims.length, 2);
      assert.equal((await claim(second, { rate })).claims.length, 0);
      t.clock.jump(1_001);
      assert.equal((await claim(second, { rate })).claims.length, 1);
      assert.equal((await claim(t, { rate })).claims.length, 0);
    },
  },
  {
    // B067, B205
    name: 'wakes the other instance for an earlier job, a move, a resumed topic and a freed slot',
    run: async (t) => {
      const second = await openSecond(t);
      await assertWakes(second, 'a first job at the other instance', () =>
        scheduleOne(t, { delayMs: 60_000 }),
      );
      await assertWakes(second, 'an earlier job at the other instance', () =>
        scheduleOne(t, { id: 'near', delayMs: 50_000 }),
      );
      await assertWakes(second, 'a move at the other instance', () =>
        reschedule(t, 'job-1', { delayMs: 10 }),
      );
      t.clock.jump(10);
      await t.provider.setPaused(TOPIC, true);
      await assertWakes(second, 'resuming at the other instance', () => t.provider.setPaused(TOPIC, false));

      const lease = await claimOne(t);
      await scheduleOne(t, { id: 'blocked' });
      const request = { maxInFlight: 1 };
      await assertWakes(
        second,
        'a slot freed at the other instance',
        () => settle(t, complete(lease)),
        request,
      );
    },
  },
  {
    name: 'wakes the other instance when a job is retried or released earlier than its lease would end',
    run: async (t) => {
      const second = await openSecond(t);
      await scheduleOne(t);
      const lease = await claimOne(t, { leaseMs: LEASE_MS });

      await assertWakes(second, 'a retry at the other instance', () => settle(t, retry(lease, 1_000)));
      t.clock.jump(1_000);
      const again = await claimOne(t);
      await assertWakes(second, 'a release at the other instance', () => settle(t, release(again)));
    },
  },
];

export const instancesCases: readonly ConformanceCase[] = cases.map((conformanceCase) => ({
  ...conformanceCase,
  needs: ['second-instance'],
}));
