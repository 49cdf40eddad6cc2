import { describe, expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import {
  type Clock,
  Delayed,
  DelayQueueError,
  DelayQueueModule,
  type DelayQueueOptions,
  type DelayQueueOptionsFactory,
  DelayQueueService,
  getDelayQueueToken,
  InvalidNameError,
  InvalidOptionsError,
  type Job,
  MemoryProvider,
  SystemClock,
  type TopicOptions,
} from '../../lib/index.js';
import { resolveOptions } from '../../lib/resolve-options.js';
import { readRecurrence, type RecurrenceOptions } from '../../lib/recurring/recurrence.js';
import { readTopicOptions, resolveTopicOptions } from '../../lib/topic-options.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';
import { bootErrorOf, startApp } from '../support/nest-app.js';

/** What TypeScript would not let through comes from JavaScript, from JSON and from casts. */
type Unchecked = never;

/** [what it is, the options, the path of the option at fault, how the message shows the fault, the remedy] */
type Row<Options> = readonly [string, Options, string, string, RegExp];

function refusalOf(act: () => unknown): InvalidOptionsError {
  let result: unknown;
  try {
    result = act();
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidOptionsError);
    return error as InvalidOptionsError;
  }
  throw new Error(`It was accepted: ${JSON.stringify(result)}`);
}

function expectRefusal(error: InvalidOptionsError, option: string, shown: string, remedy: RegExp): void {
  expect(error.code).toBe('INVALID_OPTIONS');
  expect(error.option).toBe(option);
  expect(error.message).toContain(option);
  expect(error.message).toContain(shown);
  expect(error.message).toMatch(remedy);
  expect(error.message.length).toBeLessThan(700);
}

const WHOLE = /Give a whole number of 1 or more/;
const DURATION = /Give milliseconds from 0 to 315576000000 \(ten years\), or a text with one unit/;
const KNOWN_TOPIC_OPTIONS =
  /Known here: concurrency, globalConcurrency, rateLimit, lease, maxAttempts, backoff, timeout, expiresAfter, onExpiry/;

const badTopicOptions: readonly Row<Record<string, unknown>>[] = [
  ['a misspelt option', { concurency: 5 }, 'concurency', 'is unknown', KNOWN_TOPIC_OPTIONS],
  ['an option of another library', { attempts: 5 }, 'attempts', 'is unknown', KNOWN_TOPIC_OPTIONS],
  ['a misspelt option of undefined', { attempts: undefined }, 'attempts', 'is unknown', KNOWN_TOPIC_OPTIONS],
  ...['concurrency', 'globalConcurrency'].flatMap((option) =>
    (
      [
        [0, '0'],
        [-1, '-1'],
        [1.5, '1.5'],
        [NaN, 'NaN'],
        [Infinity, 'Infinity'],
        [2 ** 53, '9007199254740992'],
        ['5', '"5"'],
        [null, 'null'],
        [true, 'true'],
        [5n, '5n'],
        [[5], 'an array'],
      ] as const
    ).map(
      ([value, shown]) =>
        [`${option} of ${shown}`, { [option]: value }, option, `is ${shown}`, WHOLE] as const,
    ),
  ),
  ['a rate limit that is a number', { rateLimit: 5 }, 'rateLimit', '5', /must be an object/],
  ['a rate limit of zero', { rateLimit: 0 }, 'rateLimit', '0', /must be an object/],
  ['a rate limit of false', { rateLimit: false }, 'rateLimit', 'false', /must be an object/],
  ['a rate limit of null', { rateLimit: null }, 'rateLimit', 'null', /must be an object/],
  ['an empty text for a rate limit', { rateLimit: '' }, 'rateLimit', '""', /must be an object/],
  [
    'a rate limit without limit',
    { rateLimit: { per: '1s' } },
    'rateLimit.limit',
    'is missing',
    /Give the number/,
  ],
  [
    'a rate limit without period',
    { rateLimit: { limit: 5 } },
    'rateLimit.per',
    'is missing',
    /Give the period/,
  ],
  ['a rate limit of none', { rateLimit: { limit: 0, per: 1 } }, 'rateLimit.limit', 'is 0', WHOLE],
  ['half a job a second', { rateLimit: { limit: 0.5, per: 1 } }, 'rateLimit.limit', 'is 0.5', WHOLE],
  ['a period of nothing', { rateLimit: { limit: 1, per: 0 } }, 'rateLimit.per', '0 ms', /Give 1 ms or more/],
  ['a period without a unit', { rateLimit: { limit: 1, per: '1' } }, 'rateLimit.per', '"1"', DURATION],
  ['a burst of none', { rateLimit: { limit: 1, per: 1, burst: 0 } }, 'rateLimit.burst', 'is 0', WHOLE],
  [
    'an unknown rate option',
    { rateLimit: { limit: 1, per: 1, max: 5 } },
    'rateLimit.max',
    'is unknown',
    /limit, per, burst/,
  ],
  ['a lease too short', { lease: 999 }, 'lease', '999 ms', /Give 1000 ms or more/],
  ['a lease too short, as a text', { lease: '500ms' }, 'lease', '500 ms', /Give 1000 ms or more/],
  ['a lease without a unit', { lease: '30' }, 'lease', '"30"', DURATION],
  ['a lease of null', { lease: null }, 'lease', 'null', DURATION],
  ['a lease past ten years', { lease: '11y' }, 'lease', '"11y"', DURATION],
  ['no attempt at all', { maxAttempts: 0 }, 'maxAttempts', 'is 0', /from 1 to 65535/],
  ['endless attempts', { maxAttempts: Infinity }, 'maxAttempts', 'Infinity', /from 1 to 65535/],
  ['too many attempts', { maxAttempts: 65_536 }, 'maxAttempts', '65536', /from 1 to 65535/],
  ['a timeout of nothing', { timeout: 0 }, 'timeout', '0 ms', /Give 1 ms or more/],
  ['a negative timeout', { timeout: -1 }, 'timeout', '-1', DURATION],
  ['an expiry of NaN', { expiresAfter: NaN }, 'expiresAfter', 'NaN', DURATION],
  ['an unknown end', { onExpiry: 'ignore' }, 'onExpiry', '"ignore"', /Give 'drop' or 'dead-letter'/],
  ['an end of null', { onExpiry: null }, 'onExpiry', 'null', /Give 'drop' or 'dead-letter'/],
  ['a negative backoff', { backoff: -1 }, 'backoff', '-1', DURATION],
  ['a backoff of NaN', { backoff: NaN }, 'backoff', 'NaN', DURATION],
  ['a backoff without a unit', { backoff: '10' }, 'backoff', '"10"', DURATION],
  ['a backoff of null', { backoff: null }, 'backoff', 'no known type', /'fixed', 'list' or 'exponential'/],
  ['a backoff of true', { backoff: true }, 'backoff', 'no known type', /'fixed', 'list' or 'exponential'/],
  ['a backoff without a type', { backoff: { delay: 5 } }, 'backoff', 'no known type', /'fixed', 'list' or/],
  [
    'a backoff of another library',
    { backoff: { type: 'linear', delay: 5 } },
    'backoff',
    'no known type',
    /'fixed'/,
  ],
  ['an empty list', { backoff: [] }, 'backoff', 'without a wait', /at least one duration/],
  ['a list with a bad wait', { backoff: ['1s', 'soon'] }, 'backoff[1]', '"soon"', DURATION],
  ['a list with a hole', { backoff: Object.assign([], { 1: 5 }) }, 'backoff[0]', 'undefined', DURATION],
  ['a fixed backoff without a delay', { backoff: { type: 'fixed' } }, 'backoff.delay', 'undefined', DURATION],
  [
    'an unknown option of fixed',
    { backoff: { type: 'fixed', delay: 1, max: 5 } },
    'backoff.max',
    'is unknown',
    /type, delay, jitter/,
  ],
  [
    'too much jitter',
    { backoff: { type: 'fixed', delay: 1, jitter: 1.1 } },
    'backoff.jitter',
    '1.1',
    /from 0 to 1/,
  ],
  [
    'negative jitter',
    { backoff: { type: 'fixed', delay: 1, jitter: -0.1 } },
    'backoff.jitter',
    '-0.1',
    /from 0 to 1/,
  ],
  [
    'jitter of NaN',
    { backoff: { type: 'list', delays: [1], jitter: NaN } },
    'backoff.jitter',
    'NaN',
    /from 0 to 1/,
  ],
  [
    'jitter in a text',
    { backoff: { type: 'fixed', delay: 1, jitter: '0.2' } },
    'backoff.jitter',
    '"0.2"',
    /from 0 to 1/,
  ],
  [
    'a list backoff without delays',
    { backoff: { type: 'list' } },
    'backoff.delays',
    'without a wait',
    /at least one/,
  ],
  [
    'a list backoff with none',
    { backoff: { type: 'list', delays: [] } },
    'backoff.delays',
    'without a wait',
    /at least one/,
  ],
  [
    'a list backoff with a bad one',
    { backoff: { type: 'list', delays: [1, '2'] } },
    'backoff.delays[1]',
    '"2"',
    DURATION,
  ],
  [
    'an exponential one without a delay',
    { backoff: { type: 'exponential' } },
    'backoff.delay',
    'undefined',
    DURATION,
  ],
  [
    'a factor that shrinks',
    { backoff: { type: 'exponential', delay: 1, factor: 0.5 } },
    'backoff.factor',
    '0.5',
    /from 1 to 1000/,
  ],
  [
    'a factor of NaN',
    { backoff: { type: 'exponential', delay: 1, factor: NaN } },
    'backoff.factor',
    'NaN',
    /from 1 to 1000/,
  ],
  [
    'a factor of Infinity',
    { backoff: { type: 'exponential', delay: 1, factor: Infinity } },
    'backoff.factor',
    'Infinity',
    /from 1/,
  ],
  [
    'a factor in a text',
    { backoff: { type: 'exponential', delay: 1, factor: '2' } },
    'backoff.factor',
    '"2"',
    /from 1 to 1000/,
  ],
  [
    'a cap without a unit',
    { backoff: { type: 'exponential', delay: 1, max: '10' } },
    'backoff.max',
    '"10"',
    DURATION,
  ],
  [
    'a cap below the first wait',
    { backoff: { type: 'exponential', delay: '1h', max: '1m' } },
    'backoff.max',
    '60000 ms',
    /3600000 ms or more/,
  ],
];

describe.each<[string, (options: unknown) => unknown, (option: string) => string]>([
  [
    'defaults',
    (options) => resolveOptions({ defaults: options as Unchecked }),
    (option) => `defaults.${option}`,
  ],
  [
    'topics',
    (options) => resolveOptions({ topics: { 'order.expire': options as Unchecked } }),
    (option) => `topics["order.expire"].${option}`,
  ],
  [
    '@Delayed',
    (options) => readTopicOptions(options as Unchecked, '@Delayed("order.expire") on Orders.expire'),
    (option) => `@Delayed("order.expire") on Orders.expire.${option}`,
  ],
])('topic options in %s', (_place, read, pathOf) => {
  it.each(badTopicOptions)('are refused with %s', (_what, options, option, shown, remedy) => {
    expectRefusal(
      refusalOf(() => read(options)),
      pathOf(option),
      shown,
      remedy,
    );
  });

  it.each<[string, unknown, string]>([
    ['null', null, 'null'],
    ['a number', 5, '5'],
    ['a text', 'fast', '"fast"'],
    ['a list', [], 'an array'],
    ['false', false, 'false'],
  ])('are refused when they are %s', (_what, options, shown) => {
    const error = refusalOf(() => read(options));

    expect(error.message).toContain(shown);
    expect(error.message).toMatch(/must be an object/);
    expect(error.message).toContain(pathOf('').slice(0, -1));
  });

  it('are taken at their bounds', () => {
    const options: TopicOptions = {
      concurrency: 1,
      globalConcurrency: Number.MAX_SAFE_INTEGER,
      rateLimit: { limit: 1, per: 1, burst: 1 },
      lease: '1s',
      maxAttempts: 65_535,
      timeout: 1,
      expiresAfter: 0,
      onExpiry: 'dead-letter',
      backoff: { type: 'exponential', delay: 0, factor: 1, max: '3650d', jitter: 1 },
    };

    expect(() => read(options)).not.toThrow();
    expect(() => read({})).not.toThrow();
  });
});

const read = (options: TopicOptions): ReturnType<typeof readTopicOptions> => readTopicOptions(options, 'x');

describe('topic options', () => {
  it('become milliseconds; what is not set is left to the layer below', () => {
    expect(
      read({
        lease: '1m',
        timeout: '1.5s',
        expiresAfter: 0.2,
        rateLimit: { limit: 600, per: '1m' },
        concurrency: undefined,
      }),
    ).toEqual({
      leaseMs: 60_000,
      timeoutMs: 1_500,
      expiresAfterMs: 1,
      rate: { limit: 600, perMs: 60_000, burst: 1 },
    });
  });

  it('allow a burst of a tenth of a second, and one at least', () => {
    expect(read({ rateLimit: { limit: 1_000, per: '1s' } }).rate).toMatchObject({ burst: 100 });
    expect(read({ rateLimit: { limit: 1, per: '1h' } }).rate).toMatchObject({ burst: 1 });
    expect(read({ rateLimit: { limit: 1, per: '1h', burst: 5 } }).rate).toMatchObject({ burst: 5 });
  });

  it.each<[TopicOptions['backoff'], unknown]>([
    ['10s', { type: 'fixed', delayMs: 10_000, jitter: 0 }],
    [0, { type: 'fixed', delayMs: 0, jitter: 0 }],
    [[1, '1m'], { type: 'list', delaysMs: [1, 60_000], jitter: 0 }],
    [
      { type: 'fixed', delay: '1s', jitter: 0.5 },
      { type: 'fixed', delayMs: 1_000, jitter: 0.5 },
    ],
    [
      { type: 'list', delays: ['1s'], jitter: 1 },
      { type: 'list', delaysMs: [1_000], jitter: 1 },
    ],
    [
      { type: 'exponential', delay: '1s' },
      { type: 'exponential', delayMs: 1_000, factor: 2, maxMs: 600_000, jitter: 0 },
    ],
    [
      { type: 'exponential', delay: 5, factor: 1.5, max: '1h', jitter: 0.1 },
      { type: 'exponential', delayMs: 5, factor: 1.5, maxMs: 3_600_000, jitter: 0.1 },
    ],
  ])('read the backoff %j', (backoff, expected) => {
    expect(read({ backoff }).backoff).toEqual(expected);
  });

  it('let an exponential backoff start above the default cap of ten minutes', () => {
    const { backoff } = read({ backoff: { type: 'exponential', delay: '1h' } });

    expect((backoff as { maxMs: number }).maxMs).toBeGreaterThanOrEqual(3_600_000);
  });

  it('keep a backoff function as it is', () => {
    expect(read({ backoff: Math.sqrt }).backoff).toBe(Math.sqrt);
  });

  it('have the defaults the documentation names', () => {
    expect(resolveTopicOptions()).toEqual({
      concurrency: 10,
      maxInFlight: undefined,
      rate: undefined,
      leaseMs: 30_000,
      maxAttempts: 5,
      backoff: { type: 'exponential', delayMs: 1_000, factor: 2, maxMs: 600_000, jitter: 0.2 },
      timeoutMs: undefined,
      expiresAfterMs: undefined,
      onExpiry: 'drop',
    });
  });

  it('are not undone by an upper layer that leaves them undefined', () => {
    const lower = read({
      concurrency: 3,
      maxAttempts: 7,
      timeout: '1s',
      backoff: 5,
      rateLimit: { limit: 1, per: 1 },
    });
    const upper = read({
      concurrency: undefined,
      maxAttempts: undefined,
      timeout: undefined,
      backoff: undefined,
      rateLimit: undefined,
    });

    expect(resolveTopicOptions(lower, upper)).toMatchObject(lower);
  });
});

const clockParts = (...parts: (keyof Clock)[]): Clock =>
  Object.fromEntries(parts.map((part) => [part, () => 0])) as unknown as Clock;

describe('module options', () => {
  it.each<Row<Record<string, unknown>>>([
    [
      'a misspelt option',
      { porvider: {} },
      'porvider',
      'is unknown',
      /Known here: provider, topics, defaults, serializer/,
    ],
    [
      'an option of undefined that is unknown',
      { redis: undefined },
      'redis',
      'is unknown',
      /Known here: provider/,
    ],
    [
      'an unknown provider type',
      { provider: { type: 'postgres' } },
      'provider',
      'postgres',
      /\{ type: 'memory' \}/,
    ],
    [
      'a provider without a type',
      { provider: {} },
      'provider',
      'provider',
      /\{ type: 'memory' \} .* DelayQueueProvider/,
    ],
    ['a provider of null', { provider: null }, 'provider', 'provider', /\{ type: 'memory' \}/],
    ['a provider by its name', { provider: 'memory' }, 'provider', 'provider', /\{ type: 'memory' \}/],
    [
      'a provider class instead of an instance',
      { provider: MemoryProvider },
      'provider',
      'provider',
      /\{ type: 'memory' \}/,
    ],
    [
      'an unknown provider option',
      { provider: { type: 'memory', max: 5 } },
      'provider.max',
      'is unknown',
      /type, maxPending, precision/,
    ],
    [
      'a bound of none',
      { provider: { type: 'memory', maxPending: 0 } },
      'provider.maxPending',
      'is 0',
      WHOLE,
    ],
    [
      'a bound of half a job',
      { provider: { type: 'memory', maxPending: 0.5 } },
      'provider.maxPending',
      'is 0.5',
      WHOLE,
    ],
    [
      'a bound of NaN',
      { provider: { type: 'memory', maxPending: NaN } },
      'provider.maxPending',
      'is NaN',
      WHOLE,
    ],
    [
      'a bound in a text',
      { provider: { type: 'memory', maxPending: '5' } },
      'provider.maxPending',
      'is "5"',
      WHOLE,
    ],
    [
      'an unknown precision',
      { provider: { type: 'memory', precision: 'ultra' } },
      'provider.precision',
      '"ultra"',
      /'normal' or 'high'/,
    ],
    [
      'a precision beside a clock',
      { provider: { type: 'memory', precision: 'high' }, clock: new VirtualClock() },
      'provider.precision',
      'no effect on a clock of your own',
      /Leave one of them out/,
    ],
    ['a serializer of null', { serializer: null }, 'serializer', 'serializer', /methods encode and decode/],
    [
      'a serializer by its name',
      { serializer: 'json' },
      'serializer',
      'serializer',
      /methods encode and decode/,
    ],
    ['JSON as a serializer', { serializer: JSON }, 'serializer', 'serializer', /methods encode and decode/],
    [
      'half a serializer',
      { serializer: { encode: String } },
      'serializer',
      'serializer',
      /methods encode and decode/,
    ],
    ['no payload at all', { maxPayloadBytes: 0 }, 'maxPayloadBytes', 'is 0', WHOLE],
    ['a limit with a unit', { maxPayloadBytes: '1mb' }, 'maxPayloadBytes', '"1mb"', WHOLE],
    ['a limit of Infinity', { maxPayloadBytes: Infinity }, 'maxPayloadBytes', 'Infinity', WHOLE],
    ['a grace by itself', { shutdown: '10s' }, 'shutdown', '"10s"', /must be an object/],
    [
      'an unknown shutdown option',
      { shutdown: { timeout: 5 } },
      'shutdown.timeout',
      'is unknown',
      /Known here: grace/,
    ],
    ['a negative grace', { shutdown: { grace: -1 } }, 'shutdown.grace', '-1', DURATION],
    ['a grace without a unit', { shutdown: { grace: '10' } }, 'shutdown.grace', '"10"', DURATION],
    ['an endless grace', { shutdown: { grace: Infinity } }, 'shutdown.grace', 'Infinity', DURATION],
    ['a dead-letter count by itself', { deadLetters: 100 }, 'deadLetters', '100', /must be an object/],
    [
      'an unknown dead-letter option',
      { deadLetters: { max: 5 } },
      'deadLetters.max',
      'is unknown',
      /maxCount, maxAge/,
    ],
    [
      'a negative dead-letter count',
      { deadLetters: { maxCount: -1 } },
      'deadLetters.maxCount',
      '-1',
      /of 0 or more/,
    ],
    [
      'a dead-letter age in words',
      { deadLetters: { maxAge: 'long' } },
      'deadLetters.maxAge',
      '"long"',
      DURATION,
    ],
    [
      'topics in a list',
      { topics: [{ topic: 'a' }] },
      'topics',
      'an array',
      /options of each topic by its name/,
    ],
    ['topics in a text', { topics: 'a' }, 'topics', '"a"', /options of each topic by its name/],
    ['a clock without anything', { clock: {} }, 'clock', 'clock', /now, wallNow, callAt|methods of Clock/],
    ['half a clock', { clock: clockParts('now', 'wallNow') }, 'clock', 'clock', /callAt/],
    [
      'a clock that is a function',
      { clock: Date.now },
      'clock',
      'clock',
      /now, wallNow, callAt|methods of Clock/,
    ],
    ...['shutdown', 'deadLetters', 'defaults', 'topics', 'clock'].map(
      (option) => [`null for ${option}`, { [option]: null }, option, 'null', /./] as const,
    ),
  ])('are refused with %s', (_what, options, option, shown, remedy) => {
    expectRefusal(
      refusalOf(() => resolveOptions(options)),
      option,
      shown,
      remedy,
    );
  });

  it.each<[string, unknown, string]>([
    ['undefined, as from a factory that forgets to return', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a text', 'memory', '"memory"'],
    ['a list', [], 'an array'],
  ])('are refused when they are %s', (_what, options, shown) => {
    const error = refusalOf(() => resolveOptions(options as Unchecked));

    expect(error.message).toMatch(/options must be an object/);
    expect(error.message).toContain(shown);
  });

  it('are refused with a provider that lacks a method, which is named', () => {
    const methods = [
      'onAbort',
      'cancel',
      'reschedule',
      'get',
      'find',
      'counts',
      'setPaused',
      'readSettings',
      'listDead',
    ];
    for (const method of methods) {
      const provider = new MemoryProvider();
      Object.defineProperty(provider, method, { value: undefined });

      const { message, option } = refusalOf(() => resolveOptions({ provider }));

      expect(option).toBe('provider');
      expect(message).toContain(method);
    }
  });

  it('are refused for a topic that could never be one', () => {
    for (const topic of ['', 'x'.repeat(256), 'a\nb']) {
      expect(() => resolveOptions({ topics: { [topic]: {} } })).toThrow(InvalidNameError);
      expect(() => resolveOptions({ topics: { [topic]: {} } })).toThrow(/topics/);
    }
  });

  it('say that name and isGlobal stand beside the factory, when they come out of it', () => {
    for (const option of ['name', 'isGlobal']) {
      const { message } = refusalOf(() => resolveOptions({ [option]: 'billing' }));

      expect(message).toContain(option);
      expect(message).toMatch(/beside/);
    }
  });

  it('have the defaults the documentation names', () => {
    const options = resolveOptions({});

    expect(options).toMatchObject({
      maxPayloadBytes: 1_048_576,
      graceMs: 10_000,
      deadLetters: { maxCount: 10_000, maxAgeMs: 30 * 86_400_000 },
      defaults: {},
    });
    expect(options.provider).toBeInstanceOf(MemoryProvider);
    expect(options.provider.features.maxPending).toBeUndefined();
    expect(options.clock).toBeInstanceOf(SystemClock);
    expect(options.topics.size).toBe(0);
  });

  it('are taken at their bounds', () => {
    const options = resolveOptions({
      provider: { type: 'memory', maxPending: 1, precision: 'high' },
      maxPayloadBytes: 1,
      shutdown: { grace: 0 },
      deadLetters: { maxCount: 0, maxAge: 0 },
    });

    expect(options).toMatchObject({
      maxPayloadBytes: 1,
      graceMs: 0,
      deadLetters: { maxCount: 0, maxAgeMs: 0 },
    });
    expect(options.provider.features.maxPending).toBe(1);
  });

  it('take Infinity for the bound on the backlog, which is its documented default', () => {
    const { provider } = resolveOptions({ provider: { type: 'memory', maxPending: Infinity } });

    expect(provider.features.maxPending ?? Infinity).toBe(Infinity);
  });

  it('keep a clock and a provider that are given', () => {
    const clock = new VirtualClock();
    const provider = new MemoryProvider();

    expect(resolveOptions({ clock, provider })).toMatchObject({ clock, provider });
  });

  it('know topics by their very name, whatever it is', () => {
    const { topics } = resolveOptions({
      topics: JSON.parse('{"__proto__":{"concurrency":3},"a:b":{"concurrency":4}}'),
    });

    expect([...topics]).toEqual([
      ['__proto__', { concurrency: 3 }],
      ['a:b', { concurrency: 4 }],
    ]);
  });
});

describe('a memory provider made by hand', () => {
  it.each([0, -1, 1.5, NaN, '5', null])('refuses a bound of %j as the module does', (maxPending) => {
    expect(() => new MemoryProvider({ maxPending: maxPending as Unchecked })).toThrow(InvalidOptionsError);
  });

  it('refuses unknown options as the module does', () => {
    expect(() => new MemoryProvider({ maxPendng: 5 } as Unchecked)).toThrow(InvalidOptionsError);
  });
});

describe('recurrence options', () => {
  const NOT_BOTH = /Give one of them/;

  it.each<Row<Record<string, unknown>>>([
    ['every and cron', { every: '1m', cron: '* * * * *' }, 'every', 'exclude each other', NOT_BOTH],
    ['misfire without either', { misfire: 'skip' }, 'every', 'one is needed', NOT_BOTH],
    [
      'a time zone without cron',
      { every: '1m', timezone: 'UTC' },
      'timezone',
      'no effect on every',
      /Leave it out/,
    ],
    ['an interval of nothing', { every: 0 }, 'every', '0 ms', /Give 1 ms or more/],
    ['an interval without a unit', { every: '5' }, 'every', '"5"', DURATION],
    ['an interval of null', { every: null }, 'every', 'null', DURATION],
    [
      'an unknown misfire',
      { every: 1, misfire: 'run' },
      'misfire',
      '"run"',
      /'run-once' or 'skip' or 'catch-up'/,
    ],
    ['a bad grace', { every: 1, misfireGrace: -1 }, 'misfireGrace', '-1', DURATION],
    ['a pattern of four fields', { cron: '* * * *' }, 'cron', '"* * * *"', /Give five fields/],
    ['a pattern of words', { cron: 'each day' }, 'cron', '"each day"', /Give five fields/],
    ['a minute that is none', { cron: '60 * * * *' }, 'cron', '"60 * * * *"', /Give five fields/],
    ['an empty pattern', { cron: '' }, 'cron', '""', /Give five fields/],
    ['a pattern of null', { cron: null }, 'cron', 'null', /Give five fields/],
    ['a pattern that is a number', { cron: 5 }, 'cron', '5', /Give five fields/],
    [
      'an unknown time zone',
      { cron: '0 3 * * *', timezone: 'Europe/Bruxelles' },
      'cron',
      'Europe/Bruxelles',
      /IANA/,
    ],
  ])('are refused with %s', (_what, options, option, shown, remedy) => {
    const error = refusalOf(() => readRecurrence(options, '@Delayed("a") on A.b'));

    expectRefusal(error, `@Delayed("a") on A.b.${option}`, shown, remedy);
  });

  it('are none when none is set', () => {
    expect(readRecurrence({}, 'x')).toBeUndefined();
    expect(readRecurrence({ every: undefined, cron: undefined }, 'x')).toBeUndefined();
  });

  it.each<[RecurrenceOptions, object]>([
    [{ every: '1m' }, { everyMs: 60_000, misfire: 'run-once', misfireGraceMs: 60_000 }],
    [
      { cron: '0 3 * * *' },
      { cron: '0 3 * * *', timezone: 'UTC', misfire: 'run-once', misfireGraceMs: 60_000 },
    ],
    [
      { cron: '*/5 0 3 * * *', timezone: 'Europe/Brussels', misfire: 'skip', misfireGrace: 0 },
      { cron: '*/5 0 3 * * *', timezone: 'Europe/Brussels', misfire: 'skip', misfireGraceMs: 0 },
    ],
  ])('read %j', (options, expected) => {
    expect(readRecurrence(options, 'x')).toEqual(expected);
  });
});

describe('the options of a job', () => {
  interface Layers {
    readonly defaults?: TopicOptions;
    readonly decorator?: TopicOptions;
    readonly topics?: TopicOptions;
    readonly job?: { readonly maxAttempts?: number };
  }

  async function maxAttemptsWith({ defaults, decorator, topics, job }: Layers): Promise<number> {
    const clock = new VirtualClock();
    const seen: number[] = [];
    class Handlers {
      @Delayed('work', decorator)
      work(_payload: unknown, { maxAttempts }: Job): void {
        seen.push(maxAttempts);
      }
    }
    const app = await startApp({
      imports: [
        DelayQueueModule.forRoot({
          clock,
          ...(defaults && { defaults }),
          ...(topics && { topics: { work: topics, other: { maxAttempts: 60 } } }),
        }),
      ],
      providers: [Handlers],
    });
    await app.get(DelayQueueService).schedule('work', null, { delay: 0, ...job });
    await clock.advance(1);
    await app.close();
    expect(seen).toHaveLength(1);
    return seen[0]!;
  }

  const defaults = { maxAttempts: 11 };
  const decorator = { maxAttempts: 12 };
  const topics = { maxAttempts: 13 };
  const job = { maxAttempts: 14 };

  it.each<[string, Layers, number]>([
    ['the built-in ones', {}, 5],
    ['defaults over the built-in ones', { defaults }, 11],
    ['@Delayed over defaults', { defaults, decorator }, 12],
    ['topics over @Delayed', { defaults, decorator, topics }, 13],
    ['the job over topics', { defaults, decorator, topics, job }, 14],
    ['the job over defaults', { defaults, job }, 14],
    ['topics over defaults', { defaults, topics }, 13],
    [
      'what is set, over what a layer above leaves open',
      { defaults, decorator: { timeout: '1s' }, topics: {} },
      11,
    ],
  ])('are %s', async (_what, layers, expected) => {
    expect(await maxAttemptsWith(layers)).toBe(expected);
  });
});

const bad: DelayQueueOptions = { defaults: { concurrency: 0 } };
const good = (): DelayQueueOptions => ({ clock: new VirtualClock(), defaults: { maxAttempts: 9 } });

function expectBootError(error: Error): void {
  expect(error).toBeInstanceOf(InvalidOptionsError);
  expect(error.message).toBe('Option defaults.concurrency is 0. Give a whole number of 1 or more.');
}

describe('the boot', () => {
  it('fails on bad options of forRoot', async () => {
    expectBootError(await bootErrorOf({ imports: [DelayQueueModule.forRoot(bad)] }));
  });

  it('fails on bad options of @Delayed, and names the method', async () => {
    class Orders {
      @Delayed('order.expire', { concurency: 5 } as Unchecked)
      expire(): void {}
    }

    const error = await bootErrorOf({ imports: [DelayQueueModule.forRoot(good())], providers: [Orders] });

    expect(error).toBeInstanceOf(InvalidOptionsError);
    expect(error.message).toMatch(
      /@Delayed\("order\.expire"\) on Orders\.expire\.concurency is unknown\. Known here: /,
    );
  });

  it('fails on bad options of forRootAsync, made by a factory, a class or an existing provider', async () => {
    @Injectable()
    class BadFactory implements DelayQueueOptionsFactory {
      createDelayQueueOptions(): DelayQueueOptions {
        return bad;
      }
    }
    @Module({ providers: [BadFactory], exports: [BadFactory] })
    class ConfigModule {}

    for (const module of [
      DelayQueueModule.forRootAsync({ useFactory: () => bad }),
      DelayQueueModule.forRootAsync({ useFactory: async () => bad }),
      DelayQueueModule.forRootAsync({ useClass: BadFactory }),
      DelayQueueModule.forRootAsync({ imports: [ConfigModule], useExisting: BadFactory }),
    ]) {
      expectBootError(await bootErrorOf({ imports: [module] }));
    }
  });

  it('fails with what a factory throws or rejects with (B265)', async () => {
    const failure = new Error('no configuration server');
    @Injectable()
    class Failing implements DelayQueueOptionsFactory {
      createDelayQueueOptions(): Promise<DelayQueueOptions> {
        return Promise.reject(failure);
      }
    }

    for (const module of [
      DelayQueueModule.forRootAsync({ useFactory: () => Promise.reject(failure) }),
      DelayQueueModule.forRootAsync({
        useFactory: () => {
          throw failure;
        },
      }),
      DelayQueueModule.forRootAsync({ useClass: Failing }),
    ]) {
      expect(await bootErrorOf({ imports: [module] })).toBe(failure);
    }
  });

  it('fails when a factory forgets to return its options', async () => {
    const error = await bootErrorOf({
      imports: [DelayQueueModule.forRootAsync({ useFactory: () => undefined as Unchecked })],
    });

    expect(error).toBeInstanceOf(InvalidOptionsError);
    expect(error.message).toMatch(/options must be an object, not undefined/);
  });

  it('fails when forRootAsync is given nothing to make options with, and says what to give', async () => {
    for (const options of [{}, { useFactroy: () => ({}) }, { inject: [] }]) {
      const error = await bootErrorOf(() => ({
        imports: [DelayQueueModule.forRootAsync(options)],
      }));

      expect(error).toBeInstanceOf(DelayQueueError);
      expect(error.message).toMatch(/useFactory/);
    }
  });

  it('fails on a queue name that is none', async () => {
    for (const name of ['', 5, null, {}]) {
      for (const make of [
        () => DelayQueueModule.forRoot({ name: name as Unchecked }),
        () => DelayQueueModule.forRootAsync({ name: name as Unchecked, useFactory: () => good() }),
      ]) {
        const error = await bootErrorOf(() => ({ imports: [make()] }));

        expect(error).toBeInstanceOf(InvalidOptionsError);
        expect(error.message).toMatch(/Option name must be a string that is not empty/);
      }
    }
  });

  it('fails on options of null with an error of this module', async () => {
    const error = await bootErrorOf(() => ({ imports: [DelayQueueModule.forRoot(null as Unchecked)] }));

    expect(error).toBeInstanceOf(DelayQueueError);
  });

  it('takes options from every form of forRootAsync (B265)', async () => {
    const CONFIG = Symbol('config');
    @Module({ providers: [{ provide: CONFIG, useValue: { attempts: 9 } }], exports: [CONFIG] })
    class ConfigModule {}
    @Injectable()
    class Factory implements DelayQueueOptionsFactory {
      async createDelayQueueOptions(): Promise<DelayQueueOptions> {
        return good();
      }
    }
    @Module({ providers: [Factory], exports: [Factory] })
    class FactoryModule {}

    for (const module of [
      DelayQueueModule.forRootAsync({ useFactory: good }),
      DelayQueueModule.forRootAsync({ useFactory: async () => good() }),
      DelayQueueModule.forRootAsync({
        imports: [ConfigModule],
        inject: [CONFIG],
        useFactory: (config: { attempts: number }) => ({
          ...good(),
          defaults: { maxAttempts: config.attempts },
        }),
      }),
      DelayQueueModule.forRootAsync({ useClass: Factory }),
      DelayQueueModule.forRootAsync({ imports: [FactoryModule], useExisting: Factory }),
      DelayQueueModule.forRootAsync({ name: 'default', isGlobal: false, useClass: Factory }),
    ]) {
      const app = await startApp({ imports: [module] });

      expect(app.get(DelayQueueService).name).toBe('default');
      expect(await app.get(DelayQueueService).stats('work')).toMatchObject({ pending: 0 });
      await app.close();
    }
  });

  it('takes two asynchronous queues side by side', async () => {
    const app = await startApp({
      imports: [
        DelayQueueModule.forRootAsync({ useFactory: good }),
        DelayQueueModule.forRootAsync({ name: 'billing', useFactory: good }),
      ],
    });

    expect(app.get<DelayQueueService>(getDelayQueueToken()).name).toBe('default');
    expect(app.get<DelayQueueService>(getDelayQueueToken('billing')).name).toBe('billing');
    await app.close();
  });

  it('takes no options at all', async () => {
    const app = await startApp({ imports: [DelayQueueModule.forRoot()] });

    expect(app.get(DelayQueueService)).toBeInstanceOf(DelayQueueService);
    await app.close();
  });
});
