import assert from 'node:assert/strict';
import { TOPIC } from './builders.js';
import { openSecond } from './calls.js';
import type { ConformanceCase, ProviderUnderTest } from './harness.js';

/** Sorted pairs, since a name such as `__proto__` is lost in a comparison with an object literal. */
async function settings({ provider }: Pick<ProviderUnderTest, 'provider'>, topic = TOPIC) {
  return Object.entries(await provider.readSettings(topic)).toSorted(([a], [b]) => (a < b ? -1 : 1));
}

const ODD_SETTINGS: readonly (readonly [string, string])[] = [
  ['', 'no name'],
  ['00', '00'],
  ['__proto__', '{"polluted":true}'],
  ['a:b', ''],
  ['constructor', 'null'],
  ['recurring:nightly {x}', '{"cron":"0 3 * * *","empty":[]}'],
  ['🚀', 'ß\n\u0000'],
];

export const settingsCases: readonly ConformanceCase[] = [
  {
    name: 'reads no settings on a topic that has none',
    run: async (t) => {
      assert.deepEqual(await settings(t), []);
    },
  },
  {
    name: 'reads back what was written last, and nothing once it was removed',
    run: async (t) => {
      await t.provider.writeSetting(TOPIC, 'a', '1');
      await t.provider.writeSetting(TOPIC, 'b', '2');
      await t.provider.writeSetting(TOPIC, 'a', '3');
      assert.deepEqual(await settings(t), [
        ['a', '3'],
        ['b', '2'],
      ]);

      await t.provider.writeSetting(TOPIC, 'a', undefined);
      await t.provider.writeSetting(TOPIC, 'never', undefined);

      assert.deepEqual(await settings(t), [['b', '2']]);
    },
  },
  {
    // B143
    name: 'keeps odd names and values as they are',
    run: async (t) => {
      for (const [name, value] of ODD_SETTINGS) await t.provider.writeSetting(TOPIC, name, value);

      assert.deepEqual(await settings(t), ODD_SETTINGS);
      assert.equal(({} as { polluted?: boolean }).polluted, undefined);

      for (const [name] of ODD_SETTINGS) await t.provider.writeSetting(TOPIC, name, undefined);
      assert.deepEqual(await settings(t), []);
    },
  },
  {
    name: 'keeps the settings of topics apart',
    run: async (t) => {
      await t.provider.writeSetting(TOPIC, 'a', '1');

      assert.deepEqual(await settings(t, 'other'), []);
      await t.provider.writeSetting('other', 'a', undefined);
      assert.deepEqual(await settings(t), [['a', '1']]);
    },
  },
  {
    name: 'gives out a record of its own: what was read does not change, nor change the store',
    run: async (t) => {
      await t.provider.writeSetting(TOPIC, 'a', '1');
      const before: Readonly<Record<string, string>> = await t.provider.readSettings(TOPIC);

      await t.provider.writeSetting(TOPIC, 'a', '2');

      assert.deepEqual(Object.entries(before), [['a', '1']]);
    },
  },
  {
    name: 'shares settings between instances',
    needs: ['second-instance'],
    run: async (t) => {
      const second = await openSecond(t);

      await t.provider.writeSetting(TOPIC, 'a', '1');
      assert.deepEqual(await settings(second), [['a', '1']]);
      await second.provider.writeSetting(TOPIC, 'a', undefined);
      assert.deepEqual(await settings(t), []);
    },
  },
];
