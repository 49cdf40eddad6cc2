import type { Clock, Precision } from './clock.js';
import type { Duration } from './duration.js';
import type { OnExpiry } from './job.js';
import type { DelayQueueProvider } from './providers/delay-queue.provider.js';
import type { RedisProviderOptions } from './providers/redis/redis.options.js';
import type { MemoryProviderOptions } from './providers/memory/memory.provider.js';
import type { PayloadSerializer } from './schedule/payload-codec.js';

/**
 * The wait before the attempt that follows a failed one.
 * @param attempt the attempt that failed, from 1
 * @param error what the handler threw
 * @returns a duration; anything else, or a throw, falls back to the default backoff
 */
export type BackoffFunction = (attempt: number, error: unknown) => Duration;

/** Fields are durations unless said otherwise. */
export type BackoffOptions =
  /** The same wait each time. */
  | Duration
  /** One wait for each failed attempt; the last one is used for all that follow. */
  | readonly Duration[]
  | BackoffFunction
  | { readonly type: 'fixed'; readonly delay: Duration; readonly jitter?: number }
  | { readonly type: 'list'; readonly delays: readonly Duration[]; readonly jitter?: number }
  | {
      readonly type: 'exponential';
      /** Wait after the first failed attempt. */
      readonly delay: Duration;
      /** Each wait is this many times the one before. @default 2 */
      readonly factor?: number;
      /** No wait is longer. @default '10m' */
      readonly max?: Duration;
      /**
       * Share of the wait, 0 to 1, that is random: with 0.2 a wait of 10 s becomes 8 to 10 s. Spreads the retries of
       * jobs that failed together. @default 0
       */
      readonly jitter?: number;
    };

export interface RateLimitOptions {
  /** Jobs started per `per`, over all instances; a whole number from 1. */
  readonly limit: number;
  readonly per: Duration;
  /**
   * Jobs that may start at once after a pause; a whole number from 1.
   * @default the jobs of 100 ms, at least 1: a backlog is released smoothly
   */
  readonly burst?: number;
}

/** How the jobs of one topic are run. */
export interface TopicOptions {
  /** Handlers running at once in this instance; a whole number from 1. @default 10 */
  readonly concurrency?: number;
  /** Handlers running at once over all instances; a whole number from 1. @default no limit */
  readonly globalConcurrency?: number;
  /** @default no limit */
  readonly rateLimit?: RateLimitOptions;
  /**
   * How long a claim protects a job. It is renewed while the handler runs, so it bounds the time to recovery after a
   * crash, not the run time. From 1 s. @default '30s'
   */
  readonly lease?: Duration;
  /** Attempts, the first included, after which a failure is final; from 1. Crashes count. @default 5 */
  readonly maxAttempts?: number;
  /** @default exponential from 1 s to 10 min with 0.2 jitter */
  readonly backoff?: BackoffOptions;
  /** Longest run of one attempt; then its signal aborts and it counts as failed. @default no limit */
  readonly timeout?: Duration;
  /** Do not start later than this past the due time. @default never expires */
  readonly expiresAfter?: Duration;
  /** @default 'drop' */
  readonly onExpiry?: OnExpiry;
}

export interface MemoryProviderConfig extends MemoryProviderOptions {
  readonly type: 'memory';
  /**
   * `high` keeps one core busy for up to 2 ms before each due time and is late by microseconds; `normal` does so for
   * up to half a millisecond. @default 'normal'
   */
  readonly precision?: Precision;
}

export interface RedisProviderConfig extends Omit<RedisProviderOptions, 'time'> {
  readonly type: 'redis';
}

export interface DelayQueueOptions {
  /** @default { type: 'memory' } */
  readonly provider?: MemoryProviderConfig | RedisProviderConfig | DelayQueueProvider;
  /** By topic; what stands here wins over `@Delayed`. */
  readonly topics?: Readonly<Record<string, TopicOptions>>;
  /** For every topic; `@Delayed` and `topics` win over it. */
  readonly defaults?: TopicOptions;
  /** @default JSON, checked so that the handler gets back what was given */
  readonly serializer?: PayloadSerializer;
  /** Longest encoded payload, bytes of UTF-8. @default 1 048 576 */
  readonly maxPayloadBytes?: number;
  readonly shutdown?: {
    /** How long handlers may go on after the application began to close. @default '10s' */
    readonly grace?: Duration;
  };
  readonly deadLetters?: {
    /** Kept per topic; the oldest go first. @default 10 000 */
    readonly maxCount?: number;
    /** @default '30d' */
    readonly maxAge?: Duration;
  };
  /** For tests. @default the machine's clocks */
  readonly clock?: Clock;
}

/** Beside the options themselves: settled when the module is written down, before any factory runs. */
export interface DelayQueueModuleExtras {
  /** Tells several queues of one application apart. @default 'default' */
  readonly name?: string;
  /** Whether other modules can inject the service without importing this one. @default true */
  readonly isGlobal?: boolean;
}

/** For `useClass` and `useExisting` of `forRootAsync`. */
export interface DelayQueueOptionsFactory {
  createDelayQueueOptions(): DelayQueueOptions | Promise<DelayQueueOptions>;
}
