import assert from 'node:assert/strict';
import { aJob, complete, deadLetter, LEASE_MS, retry, TOPIC } from './builders.js';
import { allPages, cancel, claim, findAll, ids, only, reschedule, schedule, settle } from './calls.js';
import { assertEmpty, assertSameNames } from './checks.js';
import type { ConformanceCase, ProviderUnderTest } from './harness.js';

/** B149, B151, B155, B159 and names of JavaScript's own. */
const ODD_NAMES: readonly string[] = [
  ['a:b', 'a:b:c', ':a', 'a:', ':', 'b:1', '1'],
  ['123', '00123', '1e3', '-1', '0', '1.0', ' 1', '1 '],
  ['{x}', 'a{b}c', '}{', '{}', '{a}b', '{a}c'],
  ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'undefined', 'null', 'length'],
  ['*', '?', '[a]', 'a,b', 'a|b', "it's", '"q"', '\\', '/', '%3A', 'tab\there', 'é', 'e\u0301'],
  ['🚀', '🚀🚀', 'ключ', '任务', 'x'.repeat(255), `${'x'.repeat(254)}y`],
].flat();

export const namesCases: readonly ConformanceCase[] = [
  {
    name: 'keeps odd ids apart from scheduling to the end',
    run: async (t) => {
      const added = await schedule(t, ...ODD_NAMES.map((id) => ({ id, payload: `of ${id}` })));
      assert.deepEqual(new Set(added.map(({ status }) => status)), new Set(['scheduled']));
      for (const id of ODD_NAMES) assert.equal((await t.provider.get(TOPIC, id))?.payload, `of ${id}`);
      assertSameNames(ids(await findAll(t)), ODD_NAMES);

      const { claims } = await claim(t);
      assertSameNames(ids(claims), ODD_NAMES);
      for (const { id, payload } of claims) assert.equal(payload, `of ${id}`);
      for (const status of await t.provider.settle(
        TOPIC,
        claims.map((lease) => retry(lease)),
      )) {
        assert.equal(status, 'settled');
      }

      const again = (await claim(t)).claims;
      assertSameNames(ids(again), ODD_NAMES);
      await t.provider.settle(TOPIC, again.map(complete));
      await assertEmpty(t);
    },
  },
  {
    name: 'reschedules, cancels and looks up odd ids one by one',
    run: async (t) => {
      await schedule(t, ...ODD_NAMES.map((id) => ({ id, delayMs: 1_000 })));

      let left = ODD_NAMES.length;
      for (const id of ODD_NAMES) {
        assert.equal(await reschedule(t, id, { delayMs: 2_000 }), 'rescheduled');
        assert.equal(await cancel(t, id), 'cancelled');
        assert.equal(await t.provider.get(TOPIC, id), undefined);
        assert.equal((await t.provider.counts(TOPIC)).pending, --left);
      }
    },
  },
  {
    name: 'knows nothing of ids that were never scheduled, such as names of JavaScript',
    run: async (t) => {
      for (const id of ODD_NAMES) {
        assert.equal(await t.provider.get(TOPIC, id), undefined);
        assert.equal(await cancel(t, id), 'unknown');
        assert.equal(await reschedule(t, id, { delayMs: 0 }), 'unknown');
        assert.equal(await settle(t, complete({ id, token: 1 })), 'lease-lost');
      }
    },
  },
  {
    name: 'keeps odd topics apart',
    run: async ({ provider }) => {
      for (const topic of ODD_NAMES) await provider.add(topic, [aJob({ id: 'x', payload: topic })]);
      assertSameNames(await provider.topics(), ODD_NAMES);

      for (const topic of ODD_NAMES) {
        assert.equal((await provider.get(topic, 'x'))?.topic, topic);
        const { claims } = await provider.claim(topic, { limit: 10, leaseMs: LEASE_MS });
        assert.equal(only(claims).payload, topic);
        assert.deepEqual(await provider.settle(topic, [deadLetter(only(claims))]), ['settled']);
        const dead = await allPages((cursor) => provider.listDead(topic, { limit: 10, cursor }));
        assert.deepEqual([only(dead).topic, only(dead).payload], [topic, topic]);
      }
    },
  },
  {
    // B153
    name: 'keeps topic "a" with id "b:1" apart from topic "a:b" with id "1"',
    run: async ({ provider }) => {
      await provider.add('a', [aJob({ id: 'b:1', payload: 'first' })]);
      await provider.add('a:b', [aJob({ id: '1', payload: 'second' })]);

      assert.deepEqual(await provider.cancel('a', [{ id: '1', abort: false }]), ['unknown']);
      assert.deepEqual(await provider.cancel('a:b', [{ id: 'b:1', abort: false }]), ['unknown']);
      assert.equal((await provider.get('a', 'b:1'))?.payload, 'first');
      assert.equal((await provider.get('a:b', '1'))?.payload, 'second');
      assert.deepEqual(await provider.cancel('a', [{ id: 'b:1', abort: false }]), ['cancelled']);
      assert.equal((await provider.counts('a')).pending, 0);
      assert.equal((await provider.counts('a:b')).pending, 1);
    },
  },
  {
    name: 'keeps the same id on two topics apart, and their leases',
    run: async (t) => {
      await schedule(t, { payload: 'here' });
      await t.provider.add('other', [aJob({ payload: 'there', delayMs: 10 })]);

      const lease = only((await claim(t)).claims);

      assert.equal(lease.payload, 'here');
      assert.deepEqual(await t.provider.settle('other', [complete(lease)]), ['lease-lost']);
      assert.deepEqual(await t.provider.renew('other', [lease], LEASE_MS), ['lease-lost']);
      assert.equal(await settle(t, complete(lease)), 'settled');
      assert.equal((await t.provider.get('other', 'job-1'))?.payload, 'there');
    },
  },
  {
    // B157
    name: 'keeps two queues on one store apart, also when one name begins with the other',
    needs: ['second-instance'],
    run: async (t) => {
      assert.ok(t.openSecond);
      const app = { provider: await t.openSecond({ queueName: 'app' }) };
      const app2: Pick<ProviderUnderTest, 'provider'> = {
        provider: await t.openSecond({ queueName: 'app2' }),
      };
      await schedule(app, { payload: 'app' });

      assert.deepEqual((await claim(app2)).claims, []);
      assert.equal(await cancel(app2, 'job-1'), 'unknown');
      assert.deepEqual(await app2.provider.topics(), []);
      assert.equal((await schedule(app2, { payload: 'app2' }))[0]?.status, 'scheduled');
      assert.equal(only((await claim(app)).claims).payload, 'app');
      assert.equal(only((await claim(app2)).claims).payload, 'app2');
    },
  },
];
