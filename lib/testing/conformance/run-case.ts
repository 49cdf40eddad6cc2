import type { ConformanceCase, CreateOptions, Need, ProviderHarness, ProviderUnderTest } from './harness.js';

/** So far off that no case reaches it without asking for less. */
const KEEP_ALL = { maxCount: 1_000_000, maxAgeMs: 100 * 365 * 86_400_000 };

/**
 * Runs one case against a provider of its own.
 * @returns what the case needs and the provider lacks, in which case it did not run; else an empty list
 * @throws AssertionError (or what the provider rejected with) where the fact does not hold
 */
export async function runCase(
  harness: ProviderHarness,
  conformanceCase: ConformanceCase,
): Promise<readonly Need[]> {
  const options = {
    ...conformanceCase.options,
    deadLetters: { ...KEEP_ALL, ...conformanceCase.options?.deadLetters },
  };
  const underTest = await harness.create(options);
  try {
    const lacks = (conformanceCase.needs ?? []).filter((need) => !has(need, harness, underTest, options));
    if (lacks.length === 0) await conformanceCase.run(underTest, harness);
    return lacks;
  } finally {
    await underTest.dispose();
  }
}

function has(
  need: Need,
  harness: ProviderHarness,
  underTest: ProviderUnderTest,
  options: CreateOptions,
): boolean {
  const { features } = underTest.provider;
  switch (need) {
    case 'second-instance':
      return underTest.openSecond !== undefined;
    case 'durable':
      return features.durable;
    case 'fifo':
      return features.fifoWithinDueTime;
    case 'bounded':
      return options.maxPending !== undefined && features.maxPending === options.maxPending;
    case 'wall-steps':
      return harness.features?.wallSteps ?? true;
    case 'unopened':
      return harness.unopened !== undefined;
    default:
      return need satisfies never;
  }
}
