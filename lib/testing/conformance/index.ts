import { abortCases } from './abort.js';
import { boundCases } from './bound.js';
import { cancelInFlightCases } from './cancel-in-flight.js';
import { cancelCases } from './cancel.js';
import { claimCases } from './claim.js';
import { contentsCases } from './contents.js';
import { countsCases } from './counts.js';
import { deadLettersCases } from './dead-letters.js';
import { expiredLeaseCases } from './expired-lease.js';
import { flowControlCases } from './flow-control.js';
import type { ConformanceStep, Need, ProviderHarness } from './harness.js';
import { idInFlightCases } from './id-in-flight.js';
import { ifExistsCases } from './if-exists.js';
import { inspectCases } from './inspect.js';
import { instancesCases } from './instances.js';
import { leaseCases } from './lease.js';
import { lifecycleCases } from './lifecycle.js';
import { modelCases } from './model.js';
import { namesCases } from './names.js';
import { orderCases } from './order.js';
import { rateCases } from './rate.js';
import { rescheduleCases } from './reschedule.js';
import { retentionCases } from './retention.js';
import { runCase } from './run-case.js';
import { scheduleCases } from './schedule.js';
import { settingsCases } from './settings.js';
import { settleCases } from './settle.js';
import { staleTokenCases } from './stale-token.js';
import { takeoverCases } from './takeover.js';
import { testGlobals } from './test-globals.js';
import { volumeCases } from './volume.js';
import { wakeCases } from './wake.js';
import { wallClockCases } from './wall-clock.js';

export type {
  ConformanceCase,
  ConformanceStep,
  ControllableClock,
  CreateOptions,
  HarnessFeatures,
  Need,
  ProviderHarness,
  ProviderUnderTest,
  SecondOptions,
} from './harness.js';
export { runCase } from './run-case.js';

/** Bounds a case that hangs; the longest ones move tens of thousands of jobs through a store over a network. */
const CASE_LIMIT_MS = 60_000;

const NEEDS: Readonly<Record<Need, string>> = {
  'second-instance': 'a second instance on the same store (openSecond)',
  durable: 'a store that outlives its instances (features.durable)',
  fifo: 'the order of scheduling within one due time (features.fifoWithinDueTime)',
  bounded: 'a bound on waiting jobs (create({ maxPending }))',
  'wall-steps': 'due times on monotonic time (harness.features.wallSteps)',
  unopened: 'a provider that was never opened (harness.unopened)',
};

/** Every case, by the step of a job's way it is about. */
export const conformanceSteps: readonly ConformanceStep[] = [
  { step: 'lifecycle', cases: lifecycleCases },
  { step: 'schedule', cases: scheduleCases },
  { step: 'schedule: the wall clock', cases: wallClockCases },
  { step: 'schedule: an id that exists', cases: ifExistsCases },
  { step: 'schedule: an id in flight', cases: idInFlightCases },
  { step: 'schedule: the bound', cases: boundCases },
  { step: 'schedule: names', cases: namesCases },
  { step: 'claim', cases: claimCases },
  { step: 'claim: order', cases: orderCases },
  { step: 'claim: pause and maxInFlight', cases: flowControlCases },
  { step: 'claim: rate', cases: rateCases },
  { step: 'wake', cases: wakeCases },
  { step: 'lease', cases: leaseCases },
  { step: 'lease: takeover', cases: takeoverCases },
  { step: 'lease: expired', cases: expiredLeaseCases },
  { step: 'settle', cases: settleCases },
  { step: 'settle: stale tokens', cases: staleTokenCases },
  { step: 'cancel', cases: cancelCases },
  { step: 'cancel: in flight', cases: cancelInFlightCases },
  { step: 'cancel: abort', cases: abortCases },
  { step: 'reschedule', cases: rescheduleCases },
  { step: 'dead letters', cases: deadLettersCases },
  { step: 'dead letters: retention', cases: retentionCases },
  { step: 'inspect', cases: inspectCases },
  { step: 'inspect: counts', cases: countsCases },
  { step: 'settings', cases: settingsCases },
  { step: 'contents through every step', cases: contentsCases },
  { step: 'instances', cases: instancesCases },
  { step: 'volume', cases: volumeCases },
  { step: 'model', cases: modelCases },
];

/**
 * Registers the conformance suite for one provider with the test runner: one test a case, each on a provider of its
 * own. What the provider lacks is skipped and printed at the end. No case waits for real time to pass, other than for a
 * wake signal that is under way.
 *
 * `CONFORMANCE_RUNS` sets how many random histories are compared with the model (100), `CONFORMANCE_SEED` repeats a run
 * of them.
 * @throws Error when the runner's `describe` and `it` are not global
 * @example
 * describeProvider({
 *   name: 'my store',
 *   async create({ deadLetters } = {}) {
 *     const clock = new VirtualClock();
 *     const reports: ProviderNotice[] = [];
 *     const provider = new MyProvider();
 *     const retention = { maxCount: 1000, maxAgeMs: 86_400_000, ...deadLetters };
 *     await provider.open({ clock, queueName: 'test', deadLetters: retention, report: (notice) => reports.push(notice) });
 *     return { provider, clock, reports, openSecond: undefined, dispose: () => provider.close() };
 *   },
 * });
 */
export function describeProvider(harness: ProviderHarness): void {
  const { describe, it, afterAll } = testGlobals();
  const skipped = new Map<Need, number>();
  describe(`provider conformance: ${harness.name}`, () => {
    for (const { step, cases } of conformanceSteps) {
      describe(step, () => {
        for (const conformanceCase of cases) {
          const run = async (): Promise<void> => {
            for (const need of await runCase(harness, conformanceCase)) {
              skipped.set(need, (skipped.get(need) ?? 0) + 1);
            }
          };
          it(conformanceCase.name, run, CASE_LIMIT_MS);
        }
      });
    }
    afterAll(() => printSkipped(harness, skipped));
  });
}

function printSkipped({ name }: ProviderHarness, skipped: ReadonlyMap<Need, number>): void {
  for (const [need, count] of skipped) {
    process.stdout.write(
      `provider conformance: ${name}: ${count} cases skipped, which need ${NEEDS[need]}\n`,
    );
  }
}
