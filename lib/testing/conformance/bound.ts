import assert from 'node:assert/strict';
import { complete, release, retry } from './builders.js';
import { cancel, claim, claimIds, claimOne, ids, schedule, scheduleOne, settle } from './calls.js';
import { assertCounts, assertSameNames } from './checks.js';
import type { ConformanceCase } from './harness.js';

const statuses = (results: readonly { readonly status: string }[]): readonly string[] =>
  results.map(({ status }) => status);

/** The bound on the backlog. */
export const boundCases: readonly ConformanceCase[] = [
  {
    name: 'refuses jobs past the bound, one by one, and stores the others',
    needs: ['bounded'],
    options: { maxPending: 3 },
    run: async (t) => {
      const results = await schedule(t, { id: 'a' }, { id: 'b' }, { id: 'c' }, { id: 'd' }, { id: 'e' });

      assert.deepEqual(statuses(results), ['scheduled', 'scheduled', 'scheduled', 'full', 'full']);
      assertSameNames(await claimIds(t), ['a', 'b', 'c']);
    },
  },
  {
    name: 'counts the bound over all topics',
    needs: ['bounded'],
    options: { maxPending: 2 },
    run: async (t) => {
      const job = { id: 'a', payload: '', delayMs: 0, at: undefined, ifExists: 'keep' } as const;
      const plain = { ...job, maxWaitMs: undefined, extras: undefined };

      await t.provider.add('one', [plain]);
      await t.provider.add('two', [plain]);

      assert.deepEqual(statuses(await t.provider.add('three', [plain])), ['full']);
    },
  },
  {
    name: 'still keeps, rejects and replaces jobs that are there when the bound is reached',
    needs: ['bounded'],
    options: { maxPending: 1 },
    run: async (t) => {
      await scheduleOne(t, { id: 'a' });

      const results = await schedule(
        t,
        { id: 'a', ifExists: 'keep' },
        { id: 'a', ifExists: 'reject' },
        { id: 'a', ifExists: 'replace', payload: 'new' },
      );

      assert.deepEqual(statuses(results), ['kept', 'exists', 'replaced']);
      assert.equal((await claimOne(t)).payload, 'new');
    },
  },
  {
    name: 'has room again once a job is cancelled or claimed',
    needs: ['bounded'],
    options: { maxPending: 2 },
    run: async (t) => {
      await schedule(t, { id: 'a' }, { id: 'b', delayMs: 10 });

      await cancel(t, 'b');
      assert.equal((await scheduleOne(t, { id: 'c', delayMs: 10 })).status, 'scheduled');
      await claimOne(t);
      assert.equal((await scheduleOne(t, { id: 'd', delayMs: 10 })).status, 'scheduled');

      assert.equal((await scheduleOne(t, { id: 'e' })).status, 'full');
    },
  },
  {
    name: 'takes a retried or released job back although the bound is reached',
    needs: ['bounded'],
    options: { maxPending: 2 },
    run: async (t) => {
      await schedule(t, { id: 'a' }, { id: 'b' });
      const [a, b] = (await claim(t)).claims;
      assert.ok(a && b);
      await schedule(t, { id: 'c' }, { id: 'd' });

      assert.equal(await settle(t, retry(a)), 'settled');
      assert.equal(await settle(t, release(b)), 'settled');

      await assertCounts(t, { pending: 4 });
      const { claims } = await claim(t);
      assertSameNames(ids(claims), ['a', 'b', 'c', 'd']);
      for (const lease of claims) await settle(t, complete(lease));
      assert.equal((await scheduleOne(t, { id: 'e' })).status, 'scheduled');
    },
  },
];
