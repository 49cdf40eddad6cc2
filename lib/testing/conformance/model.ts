import type { JobExtras } from '../../job.js';
import { openSecond } from './calls.js';
import type { ConformanceCase, ProviderHarness, ProviderUnderTest } from './harness.js';
import { wakesOf } from './hint-signal.js';
import { perform } from './model-actions.js';
import type { Action, Instance, Real } from './model-history.js';
import { ReferenceStore } from './reference-store.js';

type FastCheck = typeof import('fast-check');

const DEFAULT_RUNS = 100;
/** Below the limit of a case: the shortest failing history so far is reported, rather than that the case took too long. */
const LIMIT_MS = 40_000;
const IDS = ['a', 'b', 'a:b', '__proto__', '007'];
/** Few and near each other, so that due times and the ends of leases often meet. */
const DELAYS_MS = [0, 1, 2, 5, 10, 50];
const EXTRAS: readonly (JobExtras | undefined)[] = [undefined, {}, { headers: {} }, { maxAttempts: 2 }];

/** A history step for fast-check, which shrinks and prints it. */
class HistoryStep {
  constructor(private readonly action: Action) {}

  check(): boolean {
    return true;
  }

  async run(model: ReferenceStore, real: Real): Promise<void> {
    await perform(this.action, model, real);
  }

  toString(): string {
    return JSON.stringify(this.action);
  }
}

async function loadFastCheck(): Promise<FastCheck> {
  try {
    return await import('fast-check');
  } catch (cause) {
    throw new Error(
      'The conformance suite compares random histories with a model and needs the package "fast-check" for it. ' +
        'Install it: npm install --save-dev fast-check',
      { cause },
    );
  }
}

/** Random actions, the frequent ones first. */
function actions(fc: FastCheck) {
  const via = fc.nat(1);
  const id = fc.constantFrom(...IDS);
  const delayMs = fc.constantFrom(...DELAYS_MS);
  const extras = fc.constantFrom(...EXTRAS);
  const maybe = (least: number) =>
    fc.option(fc.integer({ min: least, max: 20 }), { nil: undefined, freq: 3 });
  const some = <Item>(item: import('fast-check').Arbitrary<Item>) =>
    fc.array(item, { minLength: 1, maxLength: 4 });
  const ifExists = fc.constantFrom('keep', 'replace', 'reject');
  const job = fc.record({ id, delayMs, atInMs: maybe(-10), ifExists, maxWaitMs: maybe(0), extras });
  const outcome = fc.constantFrom('complete', 'retry', 'release', 'dead-letter');
  const end = fc.record({ lease: fc.nat(6), outcome, delayMs, extras });
  const move = fc.record({ id, delayMs, atInMs: maybe(0) });
  const leaseMs = fc.constantFrom(5, 20, 100);
  const of = <Name extends Action['do']>(name: Name) => fc.constant(name);
  return [
    fc.record({ do: of('add'), via, jobs: some(job) }),
    fc.record({ do: of('add'), via, jobs: some(job) }),
    fc.record({ do: of('claim'), via, limit: fc.integer({ min: 1, max: 4 }), leaseMs }),
    fc.record({ do: of('claim'), via, limit: fc.integer({ min: 1, max: 4 }), leaseMs }),
    fc.record({ do: of('settle'), via, ends: some(end) }),
    fc.record({ do: of('jump'), ms: fc.constantFrom(1, 2, 5, 10, 100) }),
    fc.record({ do: of('renew'), via, leases: some(fc.nat(6)) }),
    fc.record({ do: of('cancel'), via, requests: some(fc.record({ id, abort: fc.boolean() })) }),
    fc.record({ do: of('reschedule'), via, moves: some(move) }),
    fc.record({ do: of('pause'), via, paused: fc.boolean() }),
    fc.record({ do: of('inspect'), via }),
  ].map((action) => (action as import('fast-check').Arbitrary<Action>).map((step) => new HistoryStep(step)));
}

async function start(t: ProviderUnderTest): Promise<{ model: ReferenceStore; real: Real }> {
  const providers = [t.provider, ...(t.openSecond ? [(await openSecond(t)).provider] : [])];
  const instances = providers.map((provider): Instance => {
    return { provider, wakes: wakesOf({ provider }), foretoldAt: undefined, wakesBefore: 0 };
  });
  const { clock } = t;
  const fifo = t.provider.features.fifoWithinDueTime;
  return { model: new ReferenceStore(() => clock.wallNow()), real: { clock, instances, fifo, payloads: 0 } };
}

async function checkHistories(harness: ProviderHarness): Promise<void> {
  const fc = await loadFastCheck();
  const { CONFORMANCE_RUNS, CONFORMANCE_SEED } = process.env;
  const history = fc.commands(actions(fc), { size: 'large', maxCommands: 80 });
  const property = fc.asyncProperty(history, async (steps) => {
    const t = await harness.create();
    try {
      const { model, real } = await start(t);
      await fc.asyncModelRun(() => ({ model, real }), steps);
      for (const via of real.instances.keys()) await perform({ do: 'inspect', via }, model, real);
    } finally {
      await t.dispose();
    }
  });
  await fc.assert(property, {
    interruptAfterTimeLimit: LIMIT_MS,
    numRuns: Number(CONFORMANCE_RUNS ?? harness.histories ?? DEFAULT_RUNS),
    ...(CONFORMANCE_SEED === undefined ? {} : { seed: Number(CONFORMANCE_SEED) }),
  });
}

export const modelCases: readonly ConformanceCase[] = [
  {
    name: 'answers any history of calls as a plain list of jobs would',
    run: async (_, harness) => checkHistories(harness),
  },
];
