import { describeValue } from './describe-value.js';
import { OptionReader } from './check-options.js';
import type {
  BackoffFunction,
  BackoffOptions,
  RateLimitOptions,
  TopicOptions,
} from './delay-queue.options.js';
import type { Duration } from './duration.js';
import type { Backoff, OnExpiry } from './job.js';
import type { RateLimit } from './providers/delay-queue.provider.js';

/** The options that can also be given for a single job; all but a backoff function can be stored with it. */
export interface AttemptOptions {
  readonly maxAttempts: number;
  readonly backoff: Backoff | BackoffFunction;
  readonly timeoutMs: number | undefined;
  readonly expiresAfterMs: number | undefined;
  readonly onExpiry: OnExpiry;
}

/** `TopicOptions` checked, in ms, with every default filled in. */
export interface ResolvedTopicOptions extends AttemptOptions {
  readonly concurrency: number;
  readonly maxInFlight: number | undefined;
  readonly rate: RateLimit | undefined;
  readonly leaseMs: number;
}

const DEFAULT_MAX_BACKOFF_MS = 600_000;

export const DEFAULT_BACKOFF: Backoff = {
  type: 'exponential',
  delayMs: 1_000,
  factor: 2,
  maxMs: DEFAULT_MAX_BACKOFF_MS,
  jitter: 0.2,
};

const DEFAULTS: ResolvedTopicOptions = {
  concurrency: 10,
  maxInFlight: undefined,
  rate: undefined,
  leaseMs: 30_000,
  // More than one, or a crash would be the end of the job it hit.
  maxAttempts: 5,
  backoff: DEFAULT_BACKOFF,
  timeoutMs: undefined,
  expiresAfterMs: undefined,
  onExpiry: 'drop',
};

/** Below this a busy event loop would lose leases it could well have renewed. */
const MIN_LEASE_MS = 1_000;

/** The share of a rate limit's period that may start at once, where `burst` is not given. */
const DEFAULT_BURST_MS = 100;

export const ATTEMPT_OPTION_NAMES = [
  'maxAttempts',
  'backoff',
  'timeout',
  'expiresAfter',
  'onExpiry',
] as const;
export const TOPIC_OPTION_NAMES = [
  'concurrency',
  'globalConcurrency',
  'rateLimit',
  'lease',
  ...ATTEMPT_OPTION_NAMES,
] as const;

/**
 * Checks one layer of topic options.
 * @returns only what the layer sets
 * @throws InvalidOptionsError
 */
export function readTopicOptions(options: TopicOptions, path: string): Partial<ResolvedTopicOptions> {
  const reader = OptionReader.of(options, path, TOPIC_OPTION_NAMES);
  return {
    ...withoutUndefined({
      concurrency: reader.whole('concurrency', 1),
      maxInFlight: reader.whole('globalConcurrency', 1),
      rate:
        options.rateLimit === undefined ? undefined : readRate(options.rateLimit, reader.pathOf('rateLimit')),
      leaseMs: reader.duration('lease', MIN_LEASE_MS),
    }),
    ...readAttemptOptions(reader, options.backoff),
  };
}

/** @throws InvalidOptionsError */
export function readAttemptOptions(
  reader: OptionReader<Pick<TopicOptions, (typeof ATTEMPT_OPTION_NAMES)[number]>>,
  backoff: BackoffOptions | undefined,
): Partial<AttemptOptions> {
  return withoutUndefined({
    maxAttempts: reader.whole('maxAttempts', 1, 65_535),
    backoff: backoff === undefined ? undefined : readBackoff(backoff, reader),
    timeoutMs: reader.duration('timeout', 1),
    expiresAfterMs: reader.duration('expiresAfter'),
    onExpiry: reader.word('onExpiry', ['drop', 'dead-letter']),
  });
}

/** Later layers win. */
export function resolveTopicOptions(
  ...layers: readonly Partial<ResolvedTopicOptions>[]
): ResolvedTopicOptions {
  return Object.assign({}, DEFAULTS, ...layers) as ResolvedTopicOptions;
}

function readRate(options: RateLimitOptions, path: string): RateLimit {
  const reader = OptionReader.of(options, path, ['limit', 'per', 'burst']);
  const limit = reader.whole('limit', 1);
  const perMs = reader.duration('per', 1);
  if (limit === undefined) throw reader.error('limit', 'is missing. Give the number of jobs per period');
  if (perMs === undefined) throw reader.error('per', "is missing. Give the period, such as '1s'");
  const burst = reader.whole('burst', 1) ?? Math.max(1, Math.floor((limit * DEFAULT_BURST_MS) / perMs));
  return { limit, perMs, burst };
}

type BackoffReader = OptionReader<{ backoff?: BackoffOptions }>;

function readBackoff(options: BackoffOptions, owner: BackoffReader): Backoff | BackoffFunction {
  if (typeof options === 'function') return options;
  if (typeof options === 'number' || typeof options === 'string') {
    return { type: 'fixed', delayMs: owner.toDuration('backoff', options), jitter: 0 };
  }
  if (isList(options)) return { type: 'list', delaysMs: readDelays(options, 'backoff', owner), jitter: 0 };
  return readTaggedBackoff(options, owner);
}

function readTaggedBackoff(
  options: Exclude<BackoffOptions, number | string | BackoffFunction | readonly unknown[]>,
  owner: BackoffReader,
): Backoff {
  const path = owner.pathOf('backoff');
  switch (options?.type) {
    case 'fixed': {
      const reader = OptionReader.of(options, path, ['type', 'delay', 'jitter']);
      return { type: 'fixed', delayMs: reader.toDuration('delay', options.delay), jitter: jitterOf(reader) };
    }
    case 'list': {
      const reader = OptionReader.of(options, path, ['type', 'delays', 'jitter']);
      return {
        type: 'list',
        delaysMs: readDelays(options.delays, 'delays', reader),
        jitter: jitterOf(reader),
      };
    }
    case 'exponential': {
      const reader = OptionReader.of(options, path, ['type', 'delay', 'factor', 'max', 'jitter']);
      const delayMs = reader.toDuration('delay', options.delay);
      return {
        type: 'exponential',
        delayMs,
        factor: reader.number('factor', 1, 1_000) ?? 2,
        maxMs: readCap(reader, delayMs),
        jitter: jitterOf(reader),
      };
    }
    default:
      throw owner.error(
        'backoff',
        "has no known type. Give a duration, a list of durations, a function, or an object of type 'fixed', 'list' or 'exponential'",
      );
  }
}

function readCap(reader: OptionReader<{ max?: Duration; type: string }>, delayMs: number): number {
  const maxMs = reader.duration('max') ?? Math.max(DEFAULT_MAX_BACKOFF_MS, delayMs);
  if (maxMs >= delayMs) return maxMs;
  throw reader.error('max', `is ${maxMs} ms, below the first wait, delay. Give ${delayMs} ms or more`);
}

function readDelays(
  delays: unknown,
  key: string,
  reader: Pick<OptionReader<object>, 'error' | 'toDuration'>,
): readonly number[] {
  if (!Array.isArray(delays) || delays.length === 0) {
    throw reader.error(
      key,
      `is ${Array.isArray(delays) ? 'a list' : describeValue(delays)} without a wait. Give a list of at least one duration`,
    );
  }
  // Array.from, because map passes over holes.
  return Array.from(delays, (delay: unknown, index) => reader.toDuration(`${key}[${index}]`, delay));
}

function jitterOf(reader: OptionReader<{ jitter?: number; type: string }>): number {
  return reader.number('jitter', 0, 1) ?? 0;
}

function isList(options: BackoffOptions): options is readonly (number | string)[] {
  return Array.isArray(options);
}

/** @returns a copy that has only what is set */
export function withoutUndefined<Values extends object>(
  values: Values,
): { [Key in keyof Values]?: NonNullable<Values[Key]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [Key in keyof Values]?: NonNullable<Values[Key]>;
  };
}
