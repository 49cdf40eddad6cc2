import { OptionReader } from './check-options.js';
import { InvalidOptionsError } from './delay-queue.errors.js';
import { type Clock, SystemClock } from './clock.js';
import type {
  DelayQueueOptions,
  MemoryProviderConfig,
  RedisProviderConfig,
  TopicOptions,
} from './delay-queue.options.js';
import { describeValue } from './describe-value.js';
import { assertTopic } from './names.js';
import type { DeadLetterRetention, DelayQueueProvider } from './providers/delay-queue.provider.js';
import { MemoryProvider } from './providers/memory/memory.provider.js';
import { RedisProvider } from './providers/redis/redis.provider.js';
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

const PROVIDER_HINT =
  "Give { type: 'memory' } or { type: 'redis' }, or an object with the methods of DelayQueueProvider";

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

const PROVIDER_METHODS = [
  'open',
  'close',
  'add',
  'cancel',
  'reschedule',
  'claim',
  'settle',
  'renew',
  'onWake',
  'onAbort',
  'get',
  'find',
  'counts',
  'topics',
  'setPaused',
  'listDead',
  'getDead',
  'removeDead',
  'purgeDead',
  'readSettings',
  'writeSetting',
] as const satisfies readonly (keyof DelayQueueProvider)[];

const CLOCK_METHODS = ['now', 'wallNow', 'callAt', 'onWallStep'] as const satisfies readonly (keyof Clock)[];

/** @throws InvalidOptionsError, InvalidNameError */
export function resolveOptions(options: DelayQueueOptions): ResolvedOptions {
  const reader = readerOf(options);
  const shutdown = OptionReader.of(orEmpty(options.shutdown), 'shutdown', ['grace']);
  const deadLetters = OptionReader.of(orEmpty(options.deadLetters), 'deadLetters', ['maxCount', 'maxAge']);
  return {
    ...resolveProvider(options, reader),
    serializer: resolveSerializer(options.serializer, reader),
    maxPayloadBytes: reader.whole('maxPayloadBytes', 1) ?? 1_048_576,
    graceMs: shutdown.duration('grace') ?? 10_000,
    deadLetters: {
      maxCount: deadLetters.whole('maxCount', 0) ?? 10_000,
      maxAgeMs: deadLetters.duration('maxAge') ?? 2_592_000_000,
    },
    defaults: readTopicOptions(orEmpty(options.defaults), 'defaults'),
    topics: readTopics(orEmpty(options.topics), reader),
  };
}

type Reader = OptionReader<DelayQueueOptions>;

function readerOf(options: DelayQueueOptions): Reader {
  for (const name of ['name', 'isGlobal']) {
    if (typeof options !== 'object' || options === null || !(name in options)) continue;
    throw new InvalidOptionsError(
      name,
      `Option ${name} comes out of the factory of forRootAsync, when the module is put together already. ` +
        `Give it beside the factory: forRootAsync({ ${name}: …, useFactory: … }).`,
    );
  }
  return OptionReader.of(options, '', OPTION_NAMES);
}

function resolveProvider(
  { provider = { type: 'memory' }, clock }: DelayQueueOptions,
  reader: Reader,
): Pick<ResolvedOptions, 'provider' | 'clock'> {
  if (clock !== undefined) {
    assertMethods(clock, CLOCK_METHODS, 'clock', 'Give an object with the methods of Clock', reader);
  }
  if (isConfig(provider)) {
    if (provider.type === 'memory') return createMemoryProvider(provider, clock);
    if (provider.type === 'redis') return createRedisProvider(provider, clock);
    const { type } = provider as { readonly type: unknown };
    throw reader.error('provider', `has the type ${describeValue(type)}. ${PROVIDER_HINT}`);
  }
  assertMethods(provider, PROVIDER_METHODS, 'provider', PROVIDER_HINT, reader);
  return { provider, clock: clock ?? new SystemClock() };
}

/** A clock of the user's own decides instead of the server's: tests move it. */
function createRedisProvider(
  config: RedisProviderConfig,
  clock: Clock | undefined,
): Pick<ResolvedOptions, 'provider' | 'clock'> {
  const { type: _type, ...options } = config;
  const provider = new RedisProvider({ ...options, time: clock ? 'clock' : 'server' });
  return { provider, clock: clock ?? new SystemClock() };
}

function createMemoryProvider(
  config: MemoryProviderConfig,
  clock: Clock | undefined,
): Pick<ResolvedOptions, 'provider' | 'clock'> {
  const reader = OptionReader.of(config, 'provider', ['type', 'maxPending', 'precision']);
  const precision = reader.word('precision', ['normal', 'high']);
  if (clock && precision) {
    throw reader.error('precision', 'has no effect on a clock of your own. Leave one of them out');
  }
  const { maxPending } = config;
  return { provider: new MemoryProvider({ maxPending }), clock: clock ?? new SystemClock(precision) };
}

/** A provider may have a `type`, too, but a configuration has no methods. */
function isConfig(provider: object): provider is MemoryProviderConfig | RedisProviderConfig {
  return typeof provider === 'object' && provider !== null && 'type' in provider && !('open' in provider);
}

function assertMethods(
  value: unknown,
  methods: readonly string[],
  option: string,
  hint: string,
  reader: Reader,
): void {
  if (typeof value !== 'object' || value === null) {
    throw reader.error(option, `is ${describeValue(value)}. ${hint}`);
  }
  const missing = methods.filter(
    (method) => typeof (value as Record<string, unknown>)[method] !== 'function',
  );
  if (missing.length > 0) {
    throw reader.error(option, `lacks ${missing.join(', ')}. ${hint}`);
  }
}

/** Only what is left out; null is a mistake that the reader names. */
function orEmpty<Options extends object>(options: Options | undefined): Options | Record<string, never> {
  return options === undefined ? {} : options;
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
  if (typeof topics !== 'object' || topics === null || Array.isArray(topics)) {
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
