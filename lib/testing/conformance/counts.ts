import assert from 'node:assert/strict';
import type { TopicCounts } from '../../providers/delay-queue.provider.js';
import { complete, deadLetter, LEASE_MS, manyJobs, release, retry, TOPIC } from './builders.js';
import { claim, claimOne, schedule, scheduleOne, settle } from './calls.js';
import { assertCounts, assertSameNames } from './checks.js';
import type { ConformanceCase } from './harness.js';

const sum = ({ pending, inFlight, dead }: TopicCounts): number => pending + inFlight + dead;

/** How many jobs there are in which state, and on which topics. */
export const countsCases: readonly ConformanceCase[] = [
  {
    // B277
    name: 'counts each job in one state, so that the sum stays the same',
    run: async (t) => {
      const check = async (expected: Partial<TopicCounts>): Promise<void> => {
        await assertCounts(t, expected);
        assert.equal(sum(await t.provider.counts(TOPIC)), 4);
      };
      await schedule(t, ...manyJobs(4, (index) => ({ delayMs: index < 3 ? 10 : 100_000 })));
      await check({ pending: 4, due: 0, headAgeMs: 0, inFlight: 0, dead: 0, paused: false });

      t.clock.jump(15);
      await check({ pending: 4, due: 3, headAgeMs: 5, inFlight: 0 });
      const { claims } = await claim(t, { leaseMs: 1_000 });
      const [a, b, c] = claims;
      assert.ok(a && b && c);
      await check({ pending: 1, due: 0, headAgeMs: 0, inFlight: 3 });

      await settle(t, retry(a, 500));
      await settle(t, deadLetter(b));
      await check({ pending: 2, due: 0, inFlight: 1, dead: 1 });
      t.clock.jump(500);
      await check({ pending: 2, due: 1, headAgeMs: 0, inFlight: 1 });
      await settle(t, release(c));
      await check({ pending: 3, due: 2, headAgeMs: 505, inFlight: 0 });
      await t.provider.setPaused(TOPIC, true);
      await check({ pending: 3, due: 2, paused: true });
    },
  },
  {
    name: 'counts a job whose lease expired as pending and due, until it is taken over',
    run: async (t) => {
      await scheduleOne(t);
      await claimOne(t, { leaseMs: 100 });
      await assertCounts(t, { pending: 0, due: 0, inFlight: 1 });

      t.clock.jump(99);
      await assertCounts(t, { pending: 0, due: 0, inFlight: 1 });
      t.clock.jump(1);
      await assertCounts(t, { pending: 1, due: 1, inFlight: 0 });

      await settle(t, complete(await claimOne(t)));
      await assertCounts(t, { pending: 0, due: 0, inFlight: 0 });
    },
  },
  {
    name: 'lists every topic that holds a job, a dead letter or a setting',
    run: async (t) => {
      const { provider } = t;
      await scheduleOne(t);
      await settle(t, deadLetter(await claimOne(t)));
      await provider.add(
        'waiting',
        manyJobs(1, () => ({ delayMs: 1_000 })),
      );
      await provider.add('running', manyJobs(1));
      await provider.claim('running', { limit: 1, leaseMs: LEASE_MS });
      await provider.writeSetting('set', 'name', 'value');
      await provider.writeSetting('set-and-waiting', 'name', 'value');
      await provider.add('set-and-waiting', manyJobs(1));
      assertSameNames(await provider.topics(), [TOPIC, 'running', 'set', 'set-and-waiting', 'waiting']);

      await scheduleOne(t);
      assert.ok((await provider.topics()).includes(TOPIC));
    },
  },
  {
    name: 'counts nothing on a topic nobody used, and does not list it for having been asked',
    run: async ({ provider }) => {
      const counts = await provider.counts('nobody');
      assert.deepEqual(
        { ...counts },
        { pending: 0, due: 0, headAgeMs: 0, inFlight: 0, dead: 0, paused: false },
      );
      await provider.find('nobody', { state: 'pending', limit: 10 });
      await provider.get('nobody', 'x');
      await provider.listDead('nobody', { limit: 10 });
      await provider.readSettings('nobody');
      await provider.claim('nobody', { limit: 1, leaseMs: LEASE_MS });
      await provider.cancel('nobody', [{ id: 'x', abort: true }]);

      assert.deepEqual(await provider.topics(), []);
    },
  },
];
