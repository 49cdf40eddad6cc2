import { describe, expect, it } from '@jest/globals';
import {
  type ConformanceCase,
  conformanceSteps,
  type ProviderHarness,
  runCase,
} from '../../lib/testing/conformance/index.js';
import { testGlobals } from '../../lib/testing/conformance/test-globals.js';
import { faults, MODEL } from './faults.js';
import { memoryHarness } from './memory-harness.js';
import { type Seat, sharedMemoryHarness, soundSeat } from './shared-memory-harness.js';

const cases = conformanceSteps.flatMap((step) => step.cases);

function caseNamed(name: string): ConformanceCase {
  const found = cases.find((conformanceCase) => conformanceCase.name === name);
  if (!found) throw new Error(`There is no case named "${name}".`);
  return found;
}

async function outcome(harness: ProviderHarness, name: string): Promise<'passes' | 'skipped' | 'fails'> {
  try {
    return (await runCase(harness, caseNamed(name))).length > 0 ? 'skipped' : 'passes';
  } catch {
    return 'fails';
  }
}

async function outcomes(harness: ProviderHarness, names: readonly string[]): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of names) found[name] = await outcome(harness, name);
  return found;
}

/** With fewer histories: every fault here is a gross one. */
const briefly = (harness: ProviderHarness): ProviderHarness => ({ ...harness, histories: 50 });

const all = (names: readonly string[], value: string): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, value]));

const TWO_INSTANCES = 'gives each job to one of two instances that claim at the same time';
const WAKES_THE_OTHER =
  'wakes the other instance for an earlier job, a move, a resumed topic and a freed slot';

/** An instance to which no wake comes through. */
const deaf: Seat = (store) => {
  const sound = soundSeat(store);
  return new Proxy(sound, {
    get: (target, key): unknown => (key === 'onWake' ? () => () => undefined : Reflect.get(target, key)),
  });
};

describe('the conformance suite', () => {
  it('names each case once', () => {
    const names = cases.map(({ name }) => name);

    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it.each(faults)(
    'fails a provider that $what',
    async ({ breaks, wrap }) => {
      expect(await outcomes(briefly(memoryHarness()), breaks)).toEqual(all(breaks, 'passes'));

      expect(await outcomes(briefly(memoryHarness(wrap)), breaks)).toEqual(all(breaks, 'fails'));
    },
    30_000,
  );

  it('passes instances that share a store soundly', async () => {
    const needy = cases.filter(({ needs }) => needs?.includes('second-instance'));
    const shared = [...needy.map(({ name }) => name), MODEL];

    expect(await outcomes(sharedMemoryHarness(), shared)).toEqual(all(shared, 'passes'));
  });

  it('fails an instance that keeps its jobs to itself', async () => {
    const apart: ProviderHarness = {
      ...sharedMemoryHarness(),
      async create(options) {
        const [one, two] = [
          await sharedMemoryHarness().create(options),
          await sharedMemoryHarness().create(options),
        ];
        return { ...one, openSecond: async () => two.provider };
      },
    };

    expect(await outcome(apart, 'shows what one instance stored to the other at once')).toBe('fails');
    expect(await outcome(apart, 'accepts an id once when both instances schedule it at the same time')).toBe(
      'fails',
    );
  });

  it('fails an instance that hears of no wake at another', async () => {
    expect(await outcome(sharedMemoryHarness(deaf), WAKES_THE_OTHER)).toBe('fails');
  });

  it('skips what a provider lacks and says which', async () => {
    expect(await runCase(memoryHarness(), caseNamed(TWO_INSTANCES))).toEqual(['second-instance']);
  });

  it('disposes of the provider of a case that failed', async () => {
    let disposed = 0;
    const counting: ProviderHarness = {
      ...memoryHarness(),
      async create(options) {
        const underTest = await memoryHarness().create(options);
        return { ...underTest, dispose: async () => void (await underTest.dispose(), disposed++) };
      },
    };
    const failing = { name: 'fails', run: () => Promise.reject(new Error('no')) };

    await expect(runCase(counting, failing)).rejects.toThrow('no');

    expect(disposed).toBe(1);
  });

  it('says what is missing where a test runner has no globals', () => {
    const { describe: runnersOwn } = globalThis as { describe?: unknown };
    Object.assign(globalThis, { describe: undefined });
    try {
      expect(testGlobals).toThrow(/no global describe.*vitest: globals: true/);
    } finally {
      Object.assign(globalThis, { describe: runnersOwn });
    }
  });
});
