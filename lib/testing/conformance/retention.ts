import assert from 'node:assert/strict';
import { aJob, deadLetter, LEASE_MS, manyJobs, TOPIC } from './builders.js';
import { claim, deadLetters, ids, schedule } from './calls.js';
import { assertCounts } from './checks.js';
import { die } from './dead-letters.js';
import type { ConformanceCase, ProviderUnderTest } from './harness.js';

const droppedCount = (t: ProviderUnderTest): number =>
  t.reports.reduce(
    (sum, notice) =>
      notice.type === 'dead-letters-dropped' && notice.topic === TOPIC ? sum + notice.count : sum,
    0,
  );

/** How many dead letters are kept, and what an operator removes. */
export const retentionCases: readonly ConformanceCase[] = [
  {
    name: 'purges by age, by number, or by either, oldest first',
    run: async (t) => {
      await die(t, 'a', 'b');
      t.clock.jump(10_000);
      await die(t, 'c', 'd', 'e', 'f');

      assert.equal(await t.provider.purgeDead(TOPIC, { olderThanMs: 60_000 }), 0);
      assert.equal(await t.provider.purgeDead(TOPIC, { keepNewest: 6 }), 0);
      assert.equal(await t.provider.purgeDead(TOPIC, { keepNewest: 5 }), 1);
      assert.deepEqual(ids(await deadLetters(t)), ['b', 'c', 'd', 'e', 'f']);
      assert.equal(await t.provider.purgeDead(TOPIC, { olderThanMs: 5_000 }), 1);
      assert.deepEqual(ids(await deadLetters(t)), ['c', 'd', 'e', 'f']);
      assert.equal(await t.provider.purgeDead(TOPIC, { olderThanMs: 5_000, keepNewest: 3 }), 1);
      t.clock.jump(10_000);
      assert.equal(await t.provider.purgeDead(TOPIC, { olderThanMs: 5_000, keepNewest: 3 }), 3);
      await assertCounts(t, { dead: 0 });
    },
  },
  {
    name: 'purges everything with keepNewest 0',
    run: async (t) => {
      await die(t, 'a', 'b', 'c');

      assert.equal(await t.provider.purgeDead(TOPIC, { keepNewest: 0 }), 3);

      assert.deepEqual(await deadLetters(t), []);
    },
  },
  {
    // B191
    name: 'keeps the newest up to maxCount, and reports how many it dropped',
    options: { deadLetters: { maxCount: 3 } },
    run: async (t) => {
      await die(t, 'a', 'b', 'c');
      assert.equal(droppedCount(t), 0);

      await die(t, 'd', 'e');

      assert.deepEqual(ids(await deadLetters(t)), ['c', 'd', 'e']);
      await assertCounts(t, { dead: 3 });
      assert.equal(droppedCount(t), 2);
    },
  },
  {
    name: 'keeps maxCount of a batch that is larger',
    options: { deadLetters: { maxCount: 3 } },
    run: async (t) => {
      await schedule(t, ...manyJobs(10));
      const { claims } = await claim(t);

      await t.provider.settle(
        TOPIC,
        claims.map((lease) => deadLetter(lease)),
      );

      await assertCounts(t, { dead: 3 });
      assert.equal((await deadLetters(t)).length, 3);
      assert.equal(droppedCount(t), 7);
    },
  },
  {
    name: 'drops dead letters past maxAgeMs by the time another is kept, and reports them',
    options: { deadLetters: { maxAgeMs: 60_000 } },
    run: async (t) => {
      await die(t, 'a', 'b');
      t.clock.jump(30_000);
      await die(t, 'c');
      assert.equal((await deadLetters(t)).length, 3);
      t.clock.jump(40_000);

      await die(t, 'd');

      assert.deepEqual(ids(await deadLetters(t)), ['c', 'd']);
      await assertCounts(t, { dead: 2 });
      assert.equal(droppedCount(t), 2);
    },
  },
  {
    name: 'counts retention topic by topic',
    options: { deadLetters: { maxCount: 2 } },
    run: async (t) => {
      await die(t, 'a', 'b');
      await t.provider.add('other', [aJob()]);
      const { claims } = await t.provider.claim('other', { limit: 1, leaseMs: LEASE_MS });

      await t.provider.settle(
        'other',
        claims.map((lease) => deadLetter(lease)),
      );

      await assertCounts(t, { dead: 2 });
      await assertCounts(t, { dead: 1 }, 'other');
      assert.deepEqual(t.reports, []);
    },
  },
];
