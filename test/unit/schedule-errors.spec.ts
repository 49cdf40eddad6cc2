import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runInNewContext } from 'node:vm';
import {
  DelayQueueError,
  InvalidDueTimeError,
  InvalidNameError,
  InvalidOptionsError,
  type MemoryProvider,
  PayloadNotSerializableError,
} from '../../lib/index.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';
import { type Instance, LastingProvider, startInstance } from '../support/instances.js';

/** What TypeScript would not let through comes from JavaScript, from JSON and from casts. */
type Unchecked = never;

const TEN_YEARS = 315_576_000_000;
const END_OF_9999 = 253_402_300_799_999;

type ErrorClass = abstract new (...args: never[]) => DelayQueueError;

const CODES = new Map<ErrorClass, string>([
  [InvalidDueTimeError, 'INVALID_DUE_TIME'],
  [InvalidNameError, 'INVALID_NAME'],
  [InvalidOptionsError, 'INVALID_OPTIONS'],
  [PayloadNotSerializableError, 'PAYLOAD_NOT_SERIALIZABLE'],
]);

/** [what it is, the value, how the message shows it] */
type Shown = readonly [string, unknown, string];

const hostile = new Proxy(
  {},
  {
    get: () => {
      throw new Error('trap');
    },
  },
);

const badDelays: readonly Shown[] = [
  ['below zero', -1, '-1'],
  ['just below zero', -0.001, '-0.001'],
  ['NaN', NaN, 'NaN'],
  ['Infinity (B025)', Infinity, 'Infinity'],
  ['-Infinity (B025)', -Infinity, '-Infinity'],
  ['MAX_VALUE (B025)', Number.MAX_VALUE, '1.7976931348623157e+308'],
  ['MAX_SAFE_INTEGER (B025)', Number.MAX_SAFE_INTEGER, '9007199254740991'],
  ['one millisecond past ten years', TEN_YEARS + 1, '315576000001'],
  ['a fraction past ten years', TEN_YEARS + 0.5, '315576000000.5'],
  ['a number in a string (B027)', '1200', '"1200"'],
  ['an empty string', '', '""'],
  ['a blank string', '   ', '"   "'],
  ['a word', 'soon', '"soon"'],
  ['an unknown unit', '5 parsecs', '"5 parsecs"'],
  ['a month, which has no length', '1 month', '"1 month"'],
  ['a negative text', '-5m', '"-5m"'],
  ['two units', '1m30s', '"1m30s"'],
  ['an exponent in a text', '1e3s', '"1e3s"'],
  ['a hexadecimal text', '0x10ms', '"0x10ms"'],
  ['a text past ten years', '11y', '"11y"'],
  ['a word for no number', 'NaN', '"NaN"'],
  ['a very long text', `${'1'.repeat(200)}s`, '(201 characters)'],
  ['a Number object (B027)', Object(1_200), 'an object'],
  ['a String object', Object('5m'), 'an object'],
  ['a bigint (B027)', 1_200n, '1200n'],
  ['a list (B027)', [1_200], 'an array'],
  ['an object', { ms: 5 }, 'an object'],
  ['an object without a prototype', Object.create(null), 'an object'],
  ['an object whose every access throws', hostile, 'an object'],
  ['null', null, 'null'],
  ['a boolean', true, 'true'],
  ['a symbol', Symbol('s'), 'Symbol(s)'],
  ['a function', () => 5, 'a function'],
  ['a Date', new Date(5), 'the Date 1970-01-01T00:00:00.005Z'],
];

const badInstants: readonly Shown[] = [
  ['NaN', NaN, 'NaN'],
  ['Infinity', Infinity, 'Infinity'],
  ['-Infinity', -Infinity, '-Infinity'],
  ['below zero', -1, '-1'],
  ['the first instant past the year 9999', END_OF_9999 + 1, '253402300800000'],
  ['a fraction past the year 9999', END_OF_9999 + 0.5, '253402300799999.5'],
  ['MAX_VALUE', Number.MAX_VALUE, '1.7976931348623157e+308'],
  ['an invalid Date', new Date(NaN), 'an invalid Date'],
  ['a Date past the year 9999', new Date(8.64e15), 'the Date +275760-09-13T00:00:00.000Z'],
  ['a date in a string', '2030-01-01', '"2030-01-01"'],
  ['an ISO instant in a string', '2030-01-01T00:00:00Z', '"2030-01-01T00:00:00Z"'],
  ['epoch ms in a string', '1893456000000', '"1893456000000"'],
  ['an empty string', '', '""'],
  ['a duration', '30s', '"30s"'],
  ['a Number object', Object(1_893_456_000_000), 'an object'],
  ['a bigint', 1_893_456_000_000n, '1893456000000n'],
  ['a list', [1_893_456_000_000], 'an array'],
  ['an object', {}, 'an object'],
  ['an object whose every access throws', hostile, 'an object'],
  ['null', null, 'null'],
  ['a boolean', false, 'false'],
  ['a symbol', Symbol('s'), 'Symbol(s)'],
  ['a function', Date.now, 'a function'],
];

const badNames: readonly Shown[] = [
  ['empty', '', '"" is empty'],
  ['256 characters long (B159)', 'x'.repeat(256), '(256 characters) is too long'],
  ['10 000 characters long (B159)', 'x'.repeat(10_000), '(10000 characters) is too long'],
  ['a million characters long (B159)', 'x'.repeat(1_000_000), '(1000000 characters) is too long'],
  ['128 characters of two units each', '😀'.repeat(128), '(256 characters) is too long'],
  ['with a line feed (B159)', 'a\nb', '"a\\nb" holds a control character'],
  ['with a null character (B159)', '\u0000', '"\\u0000" holds a control character'],
  ['with a delete character', 'a\u007f', 'holds a control character'],
  ['half a surrogate pair (B145)', '\ud83d', '"\\ud83d" holds half a surrogate pair'],
  ['the other half (B145)', 'a\ude00', 'holds half a surrogate pair'],
  ['a number', 5, '5 is not a string'],
  ['zero', 0, '0 is not a string'],
  ['null', null, 'null is not a string'],
  ['a boolean', true, 'true is not a string'],
  ['a bigint', 5n, '5n is not a string'],
  ['a symbol', Symbol('s'), 'Symbol(s) is not a string'],
  ['a list', ['a'], 'an array is not a string'],
  ['an object', { id: 'a' }, 'an object is not a string'],
  ['a String object', Object('a'), 'an object is not a string'],
];

const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;

const badPayloads: readonly Shown[] = [
  ['a cycle', cyclic, 'payload.self refers back to itself'],
  ['a bigint (B135)', 1n, 'payload is 1n'],
  ['a nested bigint (B135)', { items: [{ price: 1n }] }, 'payload.items[0].price is 1n'],
  ['a function', () => 1, 'payload is a function'],
  ['a nested function', { done: () => 1 }, 'payload.done is a function'],
  ['a symbol', Symbol('s'), 'payload is Symbol(s)'],
  ['NaN (B133)', NaN, 'payload is NaN'],
  ['a Map (B137)', { by: new Map([[1, 2]]) }, 'payload.by is a Map'],
];

/** [what it is, the options beside a good `delay`, the option at fault, how the message shows the fault, the remedy] */
type BadOption = readonly [string, Record<string, unknown>, string, string, RegExp];

const badOptions: readonly BadOption[] = [
  [
    'an unknown option',
    { dealy: 5 },
    'dealy',
    'dealy is unknown',
    /Known here: delay, at, id, ifExists, maxWait/,
  ],
  ['an option of other libraries', { runAt: 5 }, 'runAt', 'runAt is unknown', /Known here: delay, at/],
  [
    'an unknown option of undefined',
    { attempts: undefined },
    'attempts',
    'attempts is unknown',
    /maxAttempts/,
  ],
  [
    'an option with an odd name',
    { 'max attempts': 5 },
    '["max attempts"]',
    '["max attempts"] is unknown',
    /Known/,
  ],
  [
    'an unknown ifExists',
    { id: 'a', ifExists: 'drop' },
    'ifExists',
    '"drop"',
    /'keep' or 'replace' or 'reject'/,
  ],
  ['an ifExists of null', { id: 'a', ifExists: null }, 'ifExists', 'null', /'keep' or 'replace' or 'reject'/],
  [
    'ifExists replace without an id',
    { ifExists: 'replace' },
    'ifExists',
    "'replace', which needs an id",
    /Give an id/,
  ],
  [
    'ifExists reject without an id',
    { ifExists: 'reject' },
    'ifExists',
    "'reject', which needs an id",
    /Give an id/,
  ],
  [
    'maxWait without replace',
    { id: 'a', maxWait: '1m' },
    'maxWait',
    "ifExists is 'keep'",
    /Leave one of them out/,
  ],
  [
    'maxWait that is no duration',
    { id: 'a', ifExists: 'replace', maxWait: '1' },
    'maxWait',
    '"1"',
    /one unit/,
  ],
  ['a maxWait of null', { id: 'a', ifExists: 'replace', maxWait: null }, 'maxWait', 'null', /one unit/],
  ['no attempt at all', { maxAttempts: 0 }, 'maxAttempts', '0', /whole number from 1 to 65535/],
  ['half an attempt', { maxAttempts: 1.5 }, 'maxAttempts', '1.5', /whole number from 1 to 65535/],
  ['endless attempts', { maxAttempts: Infinity }, 'maxAttempts', 'Infinity', /whole number from 1 to 65535/],
  ['more attempts than are counted', { maxAttempts: 65_536 }, 'maxAttempts', '65536', /from 1 to 65535/],
  ['attempts in a string', { maxAttempts: '3' }, 'maxAttempts', '"3"', /whole number from 1 to 65535/],
  ['attempts of null', { maxAttempts: null }, 'maxAttempts', 'null', /whole number from 1 to 65535/],
  ['a negative backoff', { backoff: -1 }, 'backoff', '-1', /milliseconds from 0/],
  ['a backoff without a unit', { backoff: '10' }, 'backoff', '"10"', /one unit/],
  ['a backoff of null', { backoff: null }, 'backoff', 'backoff', /'fixed', 'list' or 'exponential'/],
  [
    'a backoff of no known type',
    { backoff: { type: 'x' } },
    'backoff',
    'backoff',
    /'fixed', 'list' or 'exponential'/,
  ],
  [
    'a backoff function',
    { backoff: () => 5 },
    'backoff',
    'a function, which cannot be stored',
    /@Delayed or to the topic/,
  ],
  ['an empty backoff list', { backoff: [] }, 'backoff', 'without a wait', /at least one duration/],
  ['a bad wait in a backoff list', { backoff: [1, '2'] }, 'backoff[1]', '"2"', /one unit/],
  ['a timeout of zero', { timeout: 0 }, 'timeout', '0 ms', /1 ms or more/],
  ['a negative timeout', { timeout: '-1s' }, 'timeout', '"-1s"', /one unit/],
  ['an expiry that is no duration', { expiresAfter: NaN }, 'expiresAfter', 'NaN', /one unit/],
  ['an unknown onExpiry', { onExpiry: 'retry' }, 'onExpiry', '"retry"', /'drop' or 'dead-letter'/],
  ['headers of null', { headers: null }, 'headers', 'null', /object of strings/],
  ['headers in a string', { headers: 'a=b' }, 'headers', '"a=b"', /object of strings/],
  ['headers in a list', { headers: ['a'] }, 'headers', 'an array', /object of strings/],
  ['headers in a Map', { headers: new Map([['a', 'b']]) }, 'headers', 'headers', /object of strings/],
  [
    'headers of the fetch kind',
    { headers: new Headers({ a: 'b' }) },
    'headers',
    'headers',
    /object of strings/,
  ],
  ['a header that is a number', { headers: { a: 'b', n: 5 } }, 'headers', '5 under "n"', /strings only/],
  [
    'a header that is undefined',
    { headers: { n: undefined } },
    'headers',
    'undefined under "n"',
    /strings only/,
  ],
];

const badOptionsAsAWhole: readonly Shown[] = [
  ['missing, as when the payload was forgotten (B271)', undefined, 'undefined'],
  ['null', null, 'null'],
  ['a delay by itself (B271)', 5_000, '5000'],
  ['a text by itself (B271)', '30s', '"30s"'],
  ['a function', () => ({ delay: 5 }), 'a function'],
];

let clock: VirtualClock;
let provider: MemoryProvider;
let instance: Instance;

beforeEach(async () => {
  clock = new VirtualClock();
  provider = new LastingProvider();
  instance = await startInstance(clock, {}, { provider });
});

afterEach(() => instance.runtime.close());

/** The error a call rejects with; it never throws, since a caller may only have attached a `catch`. */
async function errorOf(call: () => Promise<unknown>): Promise<DelayQueueError> {
  let promise: Promise<unknown>;
  try {
    promise = call();
  } catch (error) {
    throw new Error('It threw instead of rejecting', { cause: error });
  }
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('value' in outcome) throw new Error(`It was accepted: ${JSON.stringify(outcome.value)}`);
  return outcome.error as DelayQueueError;
}

function expectError(error: DelayQueueError, type: ErrorClass, shown: string, remedy: RegExp): void {
  expect(error).toBeInstanceOf(type);
  expect(error).toBeInstanceOf(DelayQueueError);
  expect(error.code).toBe(CODES.get(type));
  expect(error.name).toBe(type.name);
  expect(error.message).toContain(shown);
  expect(error.message).toMatch(remedy);
  expect(error.message).toMatch(/^Cannot (schedule a job|reschedule )/);
  // A message is for people and for logs: the value is quoted, not repeated at length.
  expect(error.message.length).toBeLessThan(600);
}

async function expectNothingStored(): Promise<void> {
  expect(await provider.topics()).toEqual([]);
  for (const topic of ['work', 'other']) {
    expect(await instance.service.stats(topic)).toMatchObject({ pending: 0, due: 0, inFlight: 0, dead: 0 });
  }
  expect(clock.pendingAlarms).toBe(0);
}

const DELAY_REMEDY =
  /Give milliseconds from 0 to 315576000000 \(ten years\), or a text with one unit such as '500ms'/;
const INSTANT_REMEDY = /Give a valid Date, or epoch milliseconds from 0 to 253402300799999 \(year 9999\)/;
const NAME_REMEDY = /Give a string of 1 to 255 characters without control characters/;
const PAYLOAD_REMEDY = /Give values the serializer can encode/;

interface Request {
  readonly topic: unknown;
  readonly payload: unknown;
  readonly options: unknown;
}

const ways: readonly [string, (request: Request) => Promise<unknown>][] = [
  [
    'schedule',
    ({ topic, payload, options }) =>
      instance.service.schedule(topic as Unchecked, payload, options as Unchecked),
  ],
  [
    'scheduleMany, between good jobs of this and another topic',
    ({ topic, payload, options }) =>
      instance.service.scheduleMany([
        { topic: 'other', payload: 'good', delay: 0 },
        { topic: 'work', payload: 'good', delay: 0 },
        { topic, payload, ...(options as object) } as Unchecked,
        { topic: 'work', payload: 'good', at: new Date() },
      ]),
  ],
];

describe.each(ways)('%s', (_way, schedule) => {
  const GOOD: Request = { topic: 'work', payload: { good: true }, options: { delay: 0 } };

  it.each(badDelays)('refuses a delay that is %s', async (_what, delay, shown) => {
    const error = await errorOf(() => schedule({ ...GOOD, options: { delay } }));

    expectError(error, InvalidDueTimeError, `delay is ${shown}`.replace('delay is (', '('), DELAY_REMEDY);
    await expectNothingStored();
  });

  it.each(badInstants)('refuses an instant that is %s', async (_what, at, shown) => {
    const error = await errorOf(() => schedule({ ...GOOD, options: { at } }));

    expectError(error, InvalidDueTimeError, `at is ${shown}`, INSTANT_REMEDY);
    await expectNothingStored();
  });

  it('refuses two due times at once', async () => {
    const error = await errorOf(() => schedule({ ...GOOD, options: { delay: '5s', at: 1_893_456_000_000 } }));

    expectError(error, InvalidDueTimeError, 'both delay ("5s") and at (1893456000000)', /Give one of them/);
    await expectNothingStored();
  });

  it.each([
    ['no due time', {}],
    ['a due time of undefined', { delay: undefined, at: undefined }],
    ['an id alone', { id: 'a' }],
  ])('refuses %s', async (_what, options) => {
    const error = await errorOf(() => schedule({ ...GOOD, options }));

    expectError(
      error,
      InvalidDueTimeError,
      'neither delay nor at is given',
      /Give delay \(0 to run at once\) or at/,
    );
    await expectNothingStored();
  });

  it.each(badNames)('refuses an id that is %s', async (_what, id, shown) => {
    const error = await errorOf(() => schedule({ ...GOOD, options: { delay: 0, id } }));

    expectError(error, InvalidNameError, shown, NAME_REMEDY);
    expect(error.message).toContain('id ');
    await expectNothingStored();
  });

  it.each([...badNames, ['missing', undefined, 'undefined is not a string'] as const])(
    'refuses a topic that is %s',
    async (_what, topic, shown) => {
      const error = await errorOf(() => schedule({ ...GOOD, topic }));

      expectError(error, InvalidNameError, shown, NAME_REMEDY);
      expect(error.message).toContain('topic ');
      await expectNothingStored();
    },
  );

  it.each(badPayloads)('refuses a payload that is or holds %s', async (_what, payload, shown) => {
    const error = await errorOf(() => schedule({ ...GOOD, payload }));

    expectError(error, PayloadNotSerializableError, shown, PAYLOAD_REMEDY);
    expect(error.message).toContain('topic "work"');
    await expectNothingStored();
  });

  it('refuses a payload past maxPayloadBytes', async () => {
    const error = await errorOf(() => schedule({ ...GOOD, payload: 'x'.repeat(1_048_576) }));

    expectError(
      error,
      PayloadNotSerializableError,
      '1048578 bytes, more than maxPayloadBytes (1048576)',
      /schedule a reference, or raise the limit/,
    );
    await expectNothingStored();
  });

  it.each(badOptions)('refuses %s', async (_what, options, option, shown, remedy) => {
    const error = await errorOf(() => schedule({ ...GOOD, options: { delay: 0, ...options } }));

    expectError(error, InvalidOptionsError, shown, remedy);
    expect(error).toMatchObject({ option });
    expect(error.message).toContain(option);
    await expectNothingStored();
  });

  it('names the topic in what it says about a job', async () => {
    const error = await errorOf(() => schedule({ ...GOOD, options: { delay: -5 } }));

    expect(error.message).toMatch(/^Cannot schedule a job on topic "work": delay is -5\. Give /);
  });
});

describe('schedule', () => {
  it('takes headers made in another realm, as test runners and vm have them', async () => {
    const headers = runInNewContext('({ tenant: "shop" })') as Record<string, string>;

    await instance.service.schedule('work', 'payload', { delay: '1h', id: 'a', headers });

    expect(await instance.service.get('work', 'a')).toMatchObject({ headers: { tenant: 'shop' } });
  });

  it.each(badOptionsAsAWhole)('refuses options that are %s', async (_what, options, shown) => {
    const error = await errorOf(() => instance.service.schedule('work', 'payload', options as Unchecked));

    expectError(error, InvalidOptionsError, shown, /Give an object with delay or at/);
    await expectNothingStored();
  });

  it.each<[string, unknown]>([
    ['a Date by itself', new Date()],
    ['a list', [{ delay: 5 }]],
    ['a Map', new Map([['delay', 5]])],
  ])('refuses options that are %s', async (_what, options) => {
    const error = await errorOf(() => instance.service.schedule('work', 'payload', options as Unchecked));

    expect(error).toBeInstanceOf(DelayQueueError);
    expect(error.message).toMatch(/^Cannot schedule a job on topic "work": .*delay.* at/);
    await expectNothingStored();
  });

  it('refuses a topic and payload among the options, which are for scheduleMany', async () => {
    for (const options of [
      { delay: 0, topic: 'other' },
      { delay: 0, payload: 1 },
    ]) {
      const error = await errorOf(() => instance.service.schedule('work', 'payload', options));

      expectError(error, InvalidOptionsError, 'is unknown', /Known here: delay, at/);
    }
    await expectNothingStored();
  });

  it('refuses one call of several in the same turn, and stores the others', async () => {
    const outcomes = await Promise.allSettled([
      instance.service.schedule('work', 1, { delay: 1_000 }),
      instance.service.schedule('work', 2, { delay: -1 }),
      instance.service.schedule('work', 1n, { delay: 1_000 }),
      instance.service.schedule('work', 4, { delay: 1_000 }),
    ]);

    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    expect(await instance.service.stats('work')).toMatchObject({ pending: 2 });
  });
});

describe('scheduleMany', () => {
  it.each<Shown>([
    ['missing', undefined, 'undefined'],
    ['null', null, 'null'],
    ['one request by itself', { topic: 'work', delay: 0 }, 'an object'],
    ['a topic (B271)', 'work', '"work"'],
    ['a Set', new Set([{ topic: 'work', delay: 0 }]), 'an object'],
    ['a number', 5, '5'],
  ])('refuses requests that are %s', async (_what, requests, shown) => {
    const error = await errorOf(() => instance.service.scheduleMany(requests as Unchecked));

    expect(error).toBeInstanceOf(InvalidOptionsError);
    expect(error.message).toContain(`give an array, not ${shown}`);
    await expectNothingStored();
  });

  it.each<Shown>([
    ['null', null, 'topic undefined is not a string'],
    ['undefined', undefined, 'topic undefined is not a string'],
    ['a number', 5, 'topic undefined is not a string'],
    ['a topic', 'work', 'topic undefined is not a string'],
    ['a list', ['work', 1], 'topic undefined is not a string'],
  ])('refuses a request that is %s', async (_what, request, shown) => {
    const good = { topic: 'work', delay: 0 };

    const error = await errorOf(() => instance.service.scheduleMany([good, request as Unchecked, good]));

    expectError(error, InvalidNameError, shown, NAME_REMEDY);
    await expectNothingStored();
  });

  it('refuses a list with a hole', async () => {
    const requests = [{ topic: 'work', delay: 0 }];
    requests[2] = { topic: 'work', delay: 0 };

    const error = await errorOf(() => instance.service.scheduleMany(requests));

    expect(error).toBeInstanceOf(DelayQueueError);
    await expectNothingStored();
  });

  it('stores none of ten thousand when the last one is wrong', async () => {
    const requests = Array.from({ length: 10_000 }, (_, n) => ({
      topic: n % 2 ? 'work' : 'other',
      delay: n,
    }));

    const error = await errorOf(() =>
      instance.service.scheduleMany([...requests, { topic: 'work', delay: -1 }]),
    );

    expect(error).toBeInstanceOf(InvalidDueTimeError);
    await expectNothingStored();
  });

  it('answers an empty list with an empty list', async () => {
    expect(await instance.service.scheduleMany([])).toEqual([]);
    await expectNothingStored();
  });
});

const reschedule = (due: unknown, topic: unknown = 'work', id: unknown = 'a'): Promise<unknown> =>
  instance.service.reschedule(topic as Unchecked, id as Unchecked, due as Unchecked);

describe('reschedule', () => {
  let dueAt: number;

  beforeEach(async () => {
    ({ dueAt } = await instance.service.schedule('work', 'payload', { delay: '1h', id: 'a' }));
  });

  async function expectUnmoved(): Promise<void> {
    expect(await provider.topics()).toEqual(['work']);
    expect(await instance.service.stats('work')).toMatchObject({ pending: 1, due: 0 });
    expect(await instance.service.get('work', 'a')).toMatchObject({ payload: 'payload', dueAt });
  }

  it.each(badDelays)('refuses a delay that is %s', async (_what, delay, shown) => {
    const error = await errorOf(() => reschedule({ delay }));

    expectError(error, InvalidDueTimeError, `delay is ${shown}`.replace('delay is (', '('), DELAY_REMEDY);
    expect(error.message).toContain('Cannot reschedule job "a" of topic "work"');
    await expectUnmoved();
  });

  it.each(badInstants)('refuses an instant that is %s', async (_what, at, shown) => {
    const error = await errorOf(() => reschedule({ at }));

    expectError(error, InvalidDueTimeError, `at is ${shown}`, INSTANT_REMEDY);
    await expectUnmoved();
  });

  it('refuses two due times at once, and none', async () => {
    const both = await errorOf(() => reschedule({ delay: 1, at: 2 }));
    const none = await errorOf(() => reschedule({}));

    expectError(both, InvalidDueTimeError, 'both delay (1) and at (2)', /Give one of them/);
    expectError(none, InvalidDueTimeError, 'neither delay nor at is given', /Give delay/);
    await expectUnmoved();
  });

  it.each(badNames)('refuses an id that is %s', async (_what, id, shown) => {
    const error = await errorOf(() => reschedule({ delay: 1 }, 'work', id));

    expectError(error, InvalidNameError, shown, NAME_REMEDY);
    await expectUnmoved();
  });

  it.each(badNames)('refuses a topic that is %s', async (_what, topic, shown) => {
    const error = await errorOf(() => reschedule({ delay: 1 }, topic));

    expectError(error, InvalidNameError, shown, NAME_REMEDY);
    await expectUnmoved();
  });

  it.each([
    { delay: 1, id: 'b' },
    { delay: 1, maxAttempts: 3 },
    { delay: 1, dealy: 2 },
  ])('refuses options that are not a due time: %j', async (due) => {
    const error = await errorOf(() => reschedule(due));

    expectError(error, InvalidOptionsError, `${Object.keys(due)[1]} is unknown`, /Known here: delay, at/);
    await expectUnmoved();
  });

  it.each(badOptionsAsAWhole)('refuses a due time that is %s', async (_what, due, shown) => {
    const error = await errorOf(() => reschedule(due));

    expect(error).toBeInstanceOf(InvalidOptionsError);
    expect(error.message).toContain(shown);
    expect(error.message).toMatch(/object/);
    await expectUnmoved();
  });
});

describe('every other method', () => {
  it.each(badNames)('refuses a topic that is %s', async (_what, topic, shown) => {
    const { service } = instance;
    const bad = topic as Unchecked;
    const calls = [
      () => service.cancel(bad, 'a'),
      () => service.get(bad, 'a'),
      () => service.runNow(bad, 'a'),
      () => service.stats(bad),
      () => service.find(bad),
      () => service.pause(bad),
      () => service.resume(bad),
      () => service.cancelWindow(bad, {}),
      () => service.rescheduleWindow(bad, {}, { delay: 0 }),
      () => service.deadLetters.list(bad),
    ];

    for (const call of calls) {
      const error = await errorOf(call);
      expect(error).toBeInstanceOf(InvalidNameError);
      expect(error.message).toContain(shown);
      expect(error.message).toMatch(NAME_REMEDY);
    }
    expect(await provider.topics()).toEqual([]);
  });

  it.each(badNames)('refuses an id that is %s', async (_what, id, shown) => {
    const { service } = instance;
    const bad = id as Unchecked;

    for (const call of [
      () => service.cancel('work', bad),
      () => service.get('work', bad),
      () => service.runNow('work', bad),
    ]) {
      const error = await errorOf(call);
      expect(error).toBeInstanceOf(InvalidNameError);
      expect(error.message).toContain(shown);
    }
  });

  it.each<[string, () => Promise<unknown>]>([
    ['cancel with options of null', () => instance.service.cancel('work', 'a', null as Unchecked)],
    [
      'cancel with an unknown option',
      () => instance.service.cancel('work', 'a', { force: true } as Unchecked),
    ],
    [
      'cancel with an abort that is no boolean',
      () => instance.service.cancel('work', 'a', { abort: 'no' } as Unchecked),
    ],
    ['find with options of null', () => instance.service.find('work', null as Unchecked)],
    ['find with an unknown state', () => instance.service.find('work', { state: 'dead' } as Unchecked)],
    ['find with a limit of 0', () => instance.service.find('work', { limit: 0 })],
    ['find with a bad window', () => instance.service.find('work', { dueFrom: 'now' } as Unchecked)],
    ['cancelWindow without a window', () => instance.service.cancelWindow('work', undefined as Unchecked)],
    [
      'rescheduleWindow without a move',
      () => instance.service.rescheduleWindow('work', {}, undefined as Unchecked),
    ],
    ['requeue without ids', () => instance.service.deadLetters.requeue('work', undefined as Unchecked)],
    ['requeue with one id by itself', () => instance.service.deadLetters.requeue('work', 'a1' as Unchecked)],
    ['remove without ids', () => instance.service.deadLetters.remove('work', undefined as Unchecked)],
    [
      'recurring.set without options',
      () => instance.service.recurring.set('work', 'a', undefined as Unchecked),
    ],
  ])('rejects with an error of this module: %s', async (_what, call) => {
    expect(await errorOf(call)).toBeInstanceOf(DelayQueueError);
  });
});
