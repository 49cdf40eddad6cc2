import assert from 'node:assert/strict';
import { complete, LEASE_MS, manyJobs, richExtras, TOPIC } from './builders.js';
import { cancel, claim, claimIds, claimOne, ids, only, schedule, scheduleOne, settle } from './calls.js';
import { assertCounts, assertForetells, assertNothingDue, assertRising, assertSameExtras } from './checks.js';
import type { ConformanceCase } from './harness.js';

export const claimCases: readonly ConformanceCase[] = [
  {
    name: 'hands out nothing one millisecond before the due time, and the job at it',
    run: async (t) => {
      await scheduleOne(t, { delayMs: 1_000 });

      t.clock.jump(999);
      await assertNothingDue(t, 1);

      t.clock.jump(1);
      assert.equal((await claimOne(t)).lateMs, 0);
    },
  },
  {
    name: 'hands out a job as it was scheduled, with its times and how late it is',
    run: async (t) => {
      const scheduledAt = t.clock.wallNow();
      await scheduleOne(t, { id: 'x', payload: '"p"', delayMs: 50, extras: richExtras() });
      t.clock.jump(57);

      const { extras, token, ...claimed } = await claimOne(t);

      assert.deepEqual(claimed, {
        id: 'x',
        payload: '"p"',
        attempt: 1,
        dueAt: scheduledAt + 50,
        scheduledAt,
        lateMs: 7,
      });
      assert.ok(Number.isSafeInteger(token));
      assertSameExtras(extras, richExtras(), 'of the claim');
    },
  },
  {
    name: 'takes no more than the limit, and says with 0 that more is due',
    run: async (t) => {
      await schedule(t, ...manyJobs(5, (index) => ({ delayMs: index })));
      t.clock.jump(5);

      const first = await claim(t, { limit: 2 });
      const second = await claim(t, { limit: 2 });
      const third = await claim(t, { limit: 2 });

      assert.deepEqual([ids(first.claims), first.nextWakeInMs], [['job-0', 'job-1'], 0]);
      assert.deepEqual([ids(second.claims), second.nextWakeInMs], [['job-2', 'job-3'], 0]);
      assert.deepEqual(ids(third.claims), ['job-4']);
      assertForetells(third, LEASE_MS);
    },
  },
  {
    name: 'foretells -1 on a topic that holds nothing, and once its last job is gone',
    run: async (t) => {
      await assertNothingDue(t, -1);

      await scheduleOne(t);
      await settle(t, complete(await claimOne(t)));
      await assertNothingDue(t, -1);

      await scheduleOne(t, { delayMs: 10 });
      await cancel(t, 'job-1');
      await assertNothingDue(t, -1);
    },
  },
  {
    name: 'foretells the nearest due time, and a lease where that ends earlier',
    run: async (t) => {
      await schedule(t, { id: 'now' }, { id: 'far', delayMs: 90_000 }, { id: 'near', delayMs: 60_000 });

      assertForetells(await claim(t, { leaseMs: 20_000 }), 20_000);
      t.clock.jump(5_000);
      await assertNothingDue(t, 15_000);
      t.clock.jump(15_000);
      await settle(t, complete(await claimOne(t)));
      await assertNothingDue(t, 40_000);
    },
  },
  {
    name: 'leads a caller that sleeps as foretold to each job at its due time',
    run: async (t) => {
      const delays = [3, 40, 41, 500, 7_000, 80_000, 7_200_000];
      await schedule(t, ...delays.map((delayMs) => ({ id: `${delayMs}`, delayMs })));

      const late: number[] = [];
      for (let turns = 0; late.length < delays.length; turns++) {
        assert.ok(turns < 10_000, 'the forecasts do not lead on');
        const { claims, nextWakeInMs } = await claim(t);
        late.push(...claims.map(({ lateMs }) => lateMs));
        await t.provider.settle(TOPIC, claims.map(complete));
        if (nextWakeInMs > 0) t.clock.jump(Math.ceil(nextWakeInMs));
      }

      assert.deepEqual(new Set(late), new Set([0]));
    },
  },
  {
    name: 'does not hand out a job that is in flight',
    run: async (t) => {
      await scheduleOne(t);
      await claimOne(t);

      t.clock.jump(LEASE_MS - 1);

      await assertNothingDue(t, 1);
    },
  },
  {
    name: 'gives each lease a token of its own, rising from claim to claim',
    run: async (t) => {
      await schedule(t, ...manyJobs(20));
      const tokens: number[] = [];
      for (let left = 20; left > 0; left -= 4) {
        const batch = (await claim(t, { limit: 4 })).claims.map(({ token }) => token);
        assert.equal(new Set(batch).size, 4);
        tokens.push(...batch.toSorted((a, b) => a - b));
      }

      assertRising(tokens);
      assert.ok(tokens.every(Number.isSafeInteger));
    },
  },
  {
    name: 'lets tokens rise on after the topic was empty and over takeovers',
    run: async (t) => {
      const tokens: number[] = [];
      for (let pass = 0; pass < 3; pass++) {
        await scheduleOne(t);
        tokens.push((await claimOne(t)).token);
        t.clock.jump(LEASE_MS);
        const takenOver = await claimOne(t);
        tokens.push(takenOver.token);
        await settle(t, complete(takenOver));
        await assertNothingDue(t, -1);
      }

      assertRising(tokens);
    },
  },
  {
    // B173 in its single-instance form
    name: 'gives every due job to one of many concurrent claims',
    run: async (t) => {
      await schedule(t, ...manyJobs(200));

      const results = await Promise.all(Array.from({ length: 30 }, () => claim(t, { limit: 10 })));

      const claims = results.flatMap((result) => result.claims);
      assert.equal(claims.length, 200);
      assert.equal(new Set(ids(claims)).size, 200);
      assert.equal(new Set(claims.map(({ token }) => token)).size, 200);
      await assertCounts(t, { pending: 0, inFlight: 200 });
    },
  },
  {
    // B173
    name: 'either claims a job or lets it be cancelled when both are asked at its due time',
    run: async (t) => {
      for (let pass = 0; pass < 200; pass++) {
        await scheduleOne(t, { id: `${pass}`, delayMs: 1 });
        t.clock.jump(1);

        const cancelling = (): Promise<string> => cancel(t, `${pass}`);
        const claiming = (): Promise<readonly string[]> => claimIds(t);
        const [status, claimed] =
          pass % 2
            ? await Promise.all([cancelling(), claiming()])
            : (await Promise.all([claiming(), cancelling()])).toReversed();

        assert.deepEqual(claimed, status === 'cancelled' ? [] : [`${pass}`]);
      }
    },
  },
  {
    name: 'keeps the claims of one topic from the jobs of another',
    run: async (t) => {
      await scheduleOne(t);

      const other = await t.provider.claim('other', { limit: 10, leaseMs: LEASE_MS });

      assert.deepEqual([other.claims, other.nextWakeInMs], [[], -1]);
      assert.equal(only((await claim(t)).claims).id, 'job-1');
    },
  },
];
