import assert from 'node:assert/strict';
import { deadLetter, manyJobs, richExtras, TOPIC } from './builders.js';
import { claim, claimOne, deadLetters, ids, only, schedule, scheduleOne, settle } from './calls.js';
import { assertCounts, assertSameExtras } from './checks.js';
import type { ConformanceCase, ProviderUnderTest } from './harness.js';

/** Lets jobs of these ids die one after the other, a millisecond apart. */
export async function die(t: ProviderUnderTest, ...deadIds: readonly string[]): Promise<void> {
  for (const id of deadIds) {
    await scheduleOne(t, { id, payload: `of ${id}` });
    await settle(t, deadLetter(await claimOne(t)));
    t.clock.jump(1);
  }
}

export const deadLettersCases: readonly ConformanceCase[] = [
  {
    name: 'keeps all about a dead letter: payload, attempts, times and extras',
    run: async (t) => {
      const scheduledAt = t.clock.wallNow();
      await scheduleOne(t, { payload: '"p"', delayMs: 10 });
      t.clock.jump(12);
      const lease = await claimOne(t);
      t.clock.jump(30);
      const extras = richExtras({ deadReason: 'attempts-exhausted', lastError: { name: 'E', message: 'm' } });

      await settle(t, deadLetter(lease, extras));

      const { deadLetterId, ...record } = only(await deadLetters(t));
      assertSameExtras(record.extras, extras, 'of the dead letter');
      assert.deepEqual(
        { ...record, extras: undefined },
        {
          id: 'job-1',
          topic: TOPIC,
          payload: '"p"',
          attempts: 1,
          dueAt: scheduledAt + 10,
          scheduledAt,
          diedAt: scheduledAt + 42,
          extras: undefined,
        },
      );
      assert.deepEqual(await t.provider.getDead(TOPIC, deadLetterId), { deadLetterId, ...record });
    },
  },
  {
    name: 'lists dead letters oldest first, whatever their due times, in pages',
    run: async (t) => {
      await schedule(t, ...manyJobs(7, (index) => ({ delayMs: index })));
      t.clock.jump(7);
      const { claims } = await claim(t);
      const order = [3, 0, 6, 2, 5, 1, 4];
      for (const index of order) {
        const lease = claims[index];
        assert.ok(lease);
        await settle(t, deadLetter(lease));
        t.clock.jump(1);
      }

      assert.deepEqual(
        ids(await deadLetters(t, 3)),
        order.map((index) => `job-${index}`),
      );
      const page = await t.provider.listDead(TOPIC, { limit: 3 });
      assert.equal(page.items.length, 3);
    },
  },
  {
    name: 'shows every untouched dead letter once while others are removed and added between the pages',
    run: async (t) => {
      await die(t, ...Array.from({ length: 20 }, (_, index) => `old-${index}`));
      const seen: string[] = [];
      let cursor: string | undefined;
      for (let page = 0; page === 0 || cursor !== undefined; page++) {
        const found = await t.provider.listDead(TOPIC, { limit: 4, cursor });
        seen.push(...ids(found.items));
        cursor = found.cursor;
        const last = found.items.at(-1);
        if (last) await t.provider.removeDead(TOPIC, [last.deadLetterId]);
        if (page < 5) await die(t, `new-${page}`);
        assert.ok(page < 50, 'the walk does not end');
      }

      assert.equal(new Set(seen).size, seen.length);
      for (let index = 0; index < 20; index++)
        assert.ok(seen.includes(`old-${index}`), `old-${index} was skipped`);
    },
  },
  {
    name: 'keeps two dead letters of one id apart',
    run: async (t) => {
      await die(t, 'x', 'x');

      const [first, second] = await deadLetters(t);

      assert.ok(first && second);
      assert.deepEqual([first.id, second.id], ['x', 'x']);
      assert.notEqual(first.deadLetterId, second.deadLetterId);
      assert.equal(await t.provider.removeDead(TOPIC, [first.deadLetterId]), 1);
      assert.equal(only(await deadLetters(t)).deadLetterId, second.deadLetterId);
      assert.equal(await t.provider.getDead(TOPIC, first.deadLetterId), undefined);
    },
  },
  {
    name: 'never uses the name of a dead letter again',
    run: async (t) => {
      const names = new Set<string>();
      for (let pass = 0; pass < 10; pass++) {
        await die(t, 'x');
        const { deadLetterId } = only(await deadLetters(t));
        names.add(deadLetterId);
        await t.provider.removeDead(TOPIC, [deadLetterId]);
      }

      assert.equal(names.size, 10);
    },
  },
  {
    name: 'says how many of the dead letters to remove there were',
    run: async (t) => {
      await die(t, 'a', 'b', 'c');
      const [a, b] = await deadLetters(t);
      assert.ok(a && b);

      const removed = await t.provider.removeDead(TOPIC, [
        a.deadLetterId,
        'never',
        b.deadLetterId,
        a.deadLetterId,
      ]);

      assert.equal(removed, 2);
      assert.equal(await t.provider.removeDead(TOPIC, [a.deadLetterId]), 0);
      assert.deepEqual(ids(await deadLetters(t)), ['c']);
      await assertCounts(t, { dead: 1 });
    },
  },
  {
    name: 'knows a dead letter on its own topic only',
    run: async (t) => {
      await die(t, 'a');
      const { deadLetterId } = only(await deadLetters(t));

      assert.equal(await t.provider.getDead('other', deadLetterId), undefined);
      assert.equal(await t.provider.removeDead('other', [deadLetterId]), 0);
      assert.equal(await t.provider.purgeDead('other', { keepNewest: 0 }), 0);

      await assertCounts(t, { dead: 1 });
    },
  },
];
