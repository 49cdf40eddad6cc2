import { OptionReader } from './check-options.js';
import { type Clock, SystemClock } from './clock.js';
import type { DelayQueueOptions, MemoryProviderConfig, TopicOptions } from './delay-queue.options.js';
import { describeValue } from './describe-value.js';
import { assertTopic } from './names.js';
import type { DeadLetterRetention, DelayQueueProvider } from './providers/delay-queue.provider.js';
import { MemoryProvider } from './providers/memory/memory.provider.js';
import { jsonSerializer, type PayloadSerializer } from './schedule/payload-codec.js';
import { type ResolvedTopicOptions, readTopicOptions } from './topic-options.js';

/** `DelayQueueOptions` checked, in ms, with every default filled in. */
export interface ResolvedOptions {
  readonly provider: DelayQueueProvider;
  readonly clock: Clock;
  readonly serializer: PayloadSerializer;
  readonly maxPayloadBytes: number;
  readonly graceMs: number;
  readonly deadLetters: DeadLetterRetention;
  readonly defaults: Partial<ResolvedTopicOptions>;
  readonly topics: ReadonlyMap<string, Partial<ResolvedTopicOptions>>;
}

const OPTION_NAMES = [
  'provider',
  'topics',
  'defaults',
  'serializer',
  'maxPayloadBytes',
  'shutdown',
  'deadLetters',
  'clock',
] as const;

const PROVIDER_METHODS = ['open', 'close', 'add', 'claim', 'settle', 'renew', 'onWake'] as const;

/** @throws InvalidOptionsError, InvalidNameError */
export function resolveOptions(options: DelayQueueOptions): ResolvedOptions {
  const reader = OptionReader.of(options, '', OPTION_NAMES);
  const shutdown = OptionReader.of(options.shutdown ?? {}, 'shutdown', ['grace']);
  const deadLetters = OptionReader.of(options.deadLetters ?? {}, 'deadLetters', ['maxCount', 'maxAge']);
  return {
    ...resolveProvider(options, reader),
    serializer: resolveSerializer(options.serializer, reader),
    maxPayloadBytes: reader.whole('maxPayloadBytes', 1) ?? 1_048_576,
    graceMs: shutdown.duration('grace') ?? 10_000,
    deadLetters: {
      maxCount: deadLetters.whole('maxCount', 0) ?? 10_000,
      maxAgeMs: deadLetters.duration('maxAge') ?? 2_592_000_000,
    },
    defaults: readTopicOptions(options.defaults ?? {}, 'defaults'),
    topics: readTopics(options.topics ?? {}, reader),
  };
}

type Reader = OptionReader<DelayQueueOptions>;

function resolveProvider(
  { provider = { type: 'memory' }, clock }: DelayQueueOptions,
  reader: Reader,
): Pick<ResolvedOptions, 'provider' | 'clock'> {
  if (!isProvider(provider)) {
    const type: unknown = (provider as { type?: unknown } | null)?.type;
    if (type !== 'memory') {
      throw reader.error(
        'provider',
        "is neither { type: 'memory' } nor an object with the methods of DelayQueueProvider",
      );
    }
    return createMemoryProvider(provider, clock);
  }
  return { provider, clock: clock ?? new SystemClock() };
}

function createMemoryProvider(
  config: MemoryProviderConfig,
  clock: Clock | undefined,
): Pick<ResolvedOptions, 'provider' | 'clock'> {
  const reader = OptionReader.of(config, 'provider', ['type', 'maxPending', 'precision']);
  const maxPending = reader.whole('maxPending', 1);
  const precision = reader.word('precision', ['normal', 'high']);
  if (clock && precision) {
    throw reader.error('precision', 'has no effect on a clock of your own. Leave one of them out');
  }
  return { provider: new MemoryProvider({ maxPending }), clock: clock ?? new SystemClock(precision) };
}

function isProvider(provider: unknown): provider is DelayQueueProvider {
  if (typeof provider !== 'object' || provider === null) return false;
  return PROVIDER_METHODS.every(
    (method) => typeof (provider as Record<string, unknown>)[method] === 'function',
  );
}

function resolveSerializer(serializer: PayloadSerializer | undefined, reader: Reader): PayloadSerializer {
  if (serializer === undefined) return jsonSerializer;
  if (typeof serializer?.encode !== 'function' || typeof serializer.decode !== 'function') {
    throw reader.error('serializer', 'must have the methods encode and decode');
  }
  return serializer;
}

function readTopics(
  topics: Readonly<Record<string, TopicOptions>>,
  reader: Reader,
): ReadonlyMap<string, Partial<ResolvedTopicOptions>> {
  if (typeof topics !== 'object' || Array.isArray(topics)) {
    throw reader.error(
      'topics',
      `is ${describeValue(topics)}. Give an object with the options of each topic by its name`,
    );
  }
  const read = new Map<string, Partial<ResolvedTopicOptions>>();
  for (const [topic, options] of Object.entries(topics)) {
    assertTopic(topic, 'read option topics');
    read.set(topic, readTopicOptions(options, `topics[${JSON.stringify(topic)}]`));
  }
  return read;
}
