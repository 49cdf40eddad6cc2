import assert from 'node:assert/strict';
import type { RateLimit } from '../../providers/delay-queue.provider.js';
import { manyJobs } from './builders.js';
import { claim, claimIds, ids, only, schedule, scheduleOne } from './calls.js';
import { assertForetells } from './checks.js';
import type { ConformanceCase, ProviderUnderTest } from './harness.js';

/** One token every 20 ms. */
const RATE: RateLimit = { limit: 50, perMs: 1_000, burst: 5 };
const TOKEN_MS = RATE.perMs / RATE.limit;

/** Claims as a dispatcher would, asleep as foretold in between. @returns when each job was claimed, ms from the start */
async function releaseTimes(
  t: ProviderUnderTest,
  count: number,
  rate: RateLimit,
): Promise<readonly number[]> {
  const times: number[] = [];
  let now = 0;
  for (let turns = 0; times.length < count; turns++) {
    assert.ok(
      turns < 100 * count,
      `only ${times.length} of ${count} jobs were handed out in ${turns} claims`,
    );
    const { claims, nextWakeInMs } = await claim(t, { rate });
    times.push(...claims.map(() => now));
    if (times.length === count) return times;
    assert.ok(nextWakeInMs > 0, `a dispatcher would spin on nextWakeInMs ${nextWakeInMs}`);
    t.clock.jump(Math.ceil(nextWakeInMs));
    now += Math.ceil(nextWakeInMs);
  }
  return times;
}

/** The rate limit that all instances share. */
export const rateCases: readonly ConformanceCase[] = [
  {
    name: 'claims a burst at once, then one job for each token',
    run: async (t) => {
      await schedule(t, ...manyJobs(20));

      const first = await claim(t, { rate: RATE });
      assert.equal(first.claims.length, RATE.burst);
      assertForetells(first, TOKEN_MS);

      for (let token = 0; token < 3; token++) {
        t.clock.jump(TOKEN_MS - 2);
        const early = await claim(t, { rate: RATE });
        assert.deepEqual(ids(early.claims), []);
        assertForetells(early, 2);
        t.clock.jump(2);
        only((await claim(t, { rate: RATE })).claims);
      }
    },
  },
  {
    name: 'gathers no more tokens than the burst, however long the topic was idle',
    run: async (t) => {
      await schedule(t, ...manyJobs(20, (index) => ({ delayMs: index < 5 ? 0 : 3_600_000 })));
      await claim(t, { rate: RATE, leaseMs: 10_000_000 });

      t.clock.jump(3_600_000);

      assert.equal((await claim(t, { rate: RATE })).claims.length, RATE.burst);
      assert.equal((await claim(t, { rate: RATE })).claims.length, 0);
    },
  },
  {
    name: 'spends no token on a claim that finds nothing, and one for each job otherwise',
    run: async (t) => {
      for (let claims = 0; claims < 20; claims++) await claim(t, { rate: RATE });
      await schedule(t, ...manyJobs(10));

      assert.equal((await claim(t, { rate: RATE, limit: 2 })).claims.length, 2);
      assert.equal((await claim(t, { rate: RATE })).claims.length, RATE.burst - 2);
    },
  },
  {
    name: 'releases an overdue backlog smoothly: at no time faster than the rate, nor slower',
    run: async (t) => {
      await schedule(t, ...manyJobs(200));
      t.clock.jump(3_600_000);

      const times = await releaseTimes(t, 200, RATE);

      times.forEach((time, index) => {
        const soonest = Math.max(0, (index + 1 - RATE.burst) * TOKEN_MS);
        // A provider that counts time in whole milliseconds may need one more.
        assert.ok(
          time >= soonest - 1 && time <= soonest + 1,
          `job ${index} at ${time} ms, its token at ${soonest} ms`,
        );
      });
    },
  },
  {
    name: 'keeps a rate whose tokens fall between whole milliseconds, over many claims',
    run: async (t) => {
      await schedule(t, ...manyJobs(100));
      const rate = { limit: 700, perMs: 1_000, burst: 1 };

      let claimed = 0;
      for (let now = 0; now <= 100; now++) {
        claimed += (await claim(t, { rate })).claims.length;
        const allowed = 1 + now * 0.7;
        // A whole clock and a burst of one lose what is left of a token between two claims.
        assert.ok(claimed <= allowed + 1e-6, `${claimed} jobs within ${now} ms, ${allowed} allowed`);
        t.clock.jump(1);
      }

      assert.ok(claimed >= 50, `only ${claimed} jobs within 100 ms`);
    },
  },
  {
    name: 'applies rate, maxInFlight and limit together: the smallest counts',
    run: async (t) => {
      await schedule(t, ...manyJobs(20));

      assert.equal((await claim(t, { rate: RATE, maxInFlight: 3, limit: 4 })).claims.length, 3);
      assert.equal((await claim(t, { rate: RATE, maxInFlight: 30, limit: 1 })).claims.length, 1);
      assert.equal((await claim(t, { rate: RATE, maxInFlight: 30, limit: 9 })).claims.length, 1);
    },
  },
  {
    name: 'foretells no later than the next due time when a rate is given and nothing is due',
    run: async (t) => {
      await schedule(t, ...manyJobs(RATE.burst));
      await scheduleOne(t, { id: 'far', delayMs: 2_000 });

      assertForetells(await claim(t, { rate: RATE }), 2_000);

      t.clock.jump(1_999);
      assertForetells(await claim(t, { rate: RATE }), 1);
      t.clock.jump(1);
      assert.deepEqual(await claimIds(t, { rate: RATE }), ['far']);
    },
  },
];
