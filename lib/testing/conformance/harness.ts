import type { Clock } from '../../clock.js';
import type {
  DeadLetterRetention,
  DelayQueueProvider,
  ProviderNotice,
} from '../../providers/delay-queue.provider.js';

/** A clock that moves when the suite says so; `VirtualClock` is one. */
export interface ControllableClock extends Clock {
  /** Lets this much time pass without ringing an alarm, ms. */
  jump(ms: number): void;
  /** Sets the wall clock forward or back, ms; `now` does not notice. */
  stepWall(ms: number): void;
  /** How many alarms are set. Where it is given, a closed provider must have left none. */
  readonly pendingAlarms?: number;
}

/** What a case wants of its provider beyond the defaults. */
export interface CreateOptions {
  /** The suite gives both limits; what no limit was given for must be kept through the whole case. */
  readonly deadLetters?: Partial<DeadLetterRetention>;
  /** The bound on waiting jobs; a provider without one ignores it, and the cases about it are skipped. */
  readonly maxPending?: number;
}

export interface SecondOptions {
  /** Another queue on the same store; absent means the queue of the first instance. */
  readonly queueName?: string;
}

/** One opened provider on an empty store, and the means to move its time. */
export interface ProviderUnderTest {
  /** Opened with `clock`, and with a `report` that fills `reports`. */
  readonly provider: DelayQueueProvider;
  /** Decides what the provider holds to be now; the suite never waits for real time to pass. */
  readonly clock: ControllableClock;
  readonly reports: readonly ProviderNotice[];
  /** Opens another instance on the same store and clock; undefined where a store belongs to one instance. */
  readonly openSecond: ((options?: SecondOptions) => Promise<DelayQueueProvider>) | undefined;
  /** Closes every instance that is still open, and removes what the case stored. */
  dispose(): Promise<void>;
}

/** What cannot be read from `provider.features`. */
export interface HarnessFeatures {
  /**
   * Due times are kept on monotonic time, so that a step of the wall clock moves `at` jobs and no others. False for a
   * store whose server knows wall-clock time only.
   * @default true
   */
  readonly wallSteps?: boolean;
}

/** How the suite gets at a provider. */
export interface ProviderHarness {
  /** Heads the report, such as `memory` or `redis: sorted-set`. */
  readonly name: string;
  readonly features?: HarnessFeatures;
  /**
   * How many random histories are compared with the model; `CONFORMANCE_RUNS` overrides it.
   * @default 100: a few seconds on a store over a network
   */
  readonly histories?: number;
  /** Called once a case, and once for each random history; each time the store is empty. */
  create(options?: CreateOptions): Promise<ProviderUnderTest>;
  /** A provider on which `open` was never called; without it the case about that is skipped. */
  unopened?(): DelayQueueProvider;
}

/** What a case relies on that not every provider has; without it the case is skipped, and the suite says so. */
export type Need = 'second-instance' | 'durable' | 'fifo' | 'bounded' | 'wall-steps' | 'unopened';

/** One fact about a provider, which throws where it does not hold. */
export interface ConformanceCase {
  /** In the present; unique in the suite. */
  readonly name: string;
  readonly options?: CreateOptions;
  readonly needs?: readonly Need[];
  run(underTest: ProviderUnderTest, harness: ProviderHarness): Promise<void>;
}

/** The cases about one step of a job's way. */
export interface ConformanceStep {
  readonly step: string;
  readonly cases: readonly ConformanceCase[];
}
