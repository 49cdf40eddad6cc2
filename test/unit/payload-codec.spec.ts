import { describe, expect, it } from '@jest/globals';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import {
  DelayQueueError,
  type Job,
  jsonSerializer,
  PayloadNotReadableError,
  PayloadNotSerializableError,
  type PayloadSerializer,
} from '../../lib/index.js';
import { PayloadCodec } from '../../lib/schedule/payload-codec.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';
import { LastingProvider, startInstance } from '../support/instances.js';

const MEGABYTE = 1_048_576;

function codecOf(serializer: PayloadSerializer = jsonSerializer, maxBytes = MEGABYTE): PayloadCodec {
  return new PayloadCodec(serializer, maxBytes);
}

function roundTrip(payload: unknown): unknown {
  const codec = codecOf();
  return codec.decode('work', 'id', codec.encode('work', payload));
}

function refusalOf(payload: unknown, codec = codecOf()): PayloadNotSerializableError {
  let text: string;
  try {
    text = codec.encode('work', payload);
  } catch (error) {
    expect(error).toBeInstanceOf(PayloadNotSerializableError);
    return error as PayloadNotSerializableError;
  }
  throw new Error(`It was encoded: ${text}`);
}

/** Schedules a payload and hands back what the handler was given. */
async function deliver(payload: unknown): Promise<unknown> {
  const clock = new VirtualClock();
  const seen: unknown[] = [];
  const { service, runtime } = await startInstance(clock, { work: (job) => seen.push(job.payload) });
  await service.schedule('work', payload, { delay: 10 });
  await clock.advance(10);
  await runtime.close();
  expect(seen).toHaveLength(1);
  return seen[0];
}

describe('a payload', () => {
  it.each([
    ['null', null],
    ['undefined', undefined],
    ['zero', 0],
    ['false', false],
    ['an empty string', ''],
    ['an empty list', []],
    ['an empty object', {}],
    ['nested empties (B131)', { a: [], b: {}, c: [[]], d: [{}], e: '', f: null, g: 0, h: false }],
    ['lists of empties (B131)', [[], {}, [[]], [[], [{}]], '', null, 0, false]],
    ['true', true],
    ['a number', -1.5e-7],
    ['the largest safe integer', Number.MAX_SAFE_INTEGER],
    ['the largest number', Number.MAX_VALUE],
    ['the smallest number', Number.MIN_VALUE],
    ['text of every kind', 'ä 漢 😀 \u0000 \u001f \u007f \u2028 \u2029 \ufeff " \\ / </script>'],
    ['half a surrogate pair (B145)', '\ud83d'],
    ['half a surrogate pair in a key (B145)', { '\ude00': 'a\ud83db' }],
    ['a text that looks encoded', '{"a":1}'],
    ['a text that says undefined', 'undefined'],
    ['keys of every kind', { '': 1, ' ': 2, 'a.b': 3, '0': 4, length: 5, toString: 6, constructor: 7 }],
    ['an object of the shape of an encoded Buffer', { type: 'Buffer', data: [1] }],
  ])('that is %s arrives equal (B133)', async (_what, payload) => {
    expect(roundTrip(payload)).toStrictEqual(payload);
    expect(await deliver(payload)).toStrictEqual(payload);
  });

  it('that is left out arrives as undefined, and null stays null', async () => {
    const clock = new VirtualClock();
    const seen: unknown[] = [];
    const { service, runtime } = await startInstance(clock, { work: (job) => seen.push(job.payload) });

    await service.scheduleMany([
      { topic: 'work', delay: 0 },
      { topic: 'work', payload: undefined, delay: 0 },
      { topic: 'work', payload: null, delay: 0 },
    ]);
    await clock.advance(1);

    expect(seen).toEqual([undefined, undefined, null]);
    await runtime.close();
  });

  it('of plain JSON arrives equal, whatever it is', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (payload) => {
        fc.pre(!holdsNegativeZero(payload));
        expect(roundTrip(payload)).toStrictEqual(payload);
      }),
      { numRuns: 500 },
    );
  });

  it('of any JavaScript values arrives equal to what was given, or is refused', () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: false,
      withMap: true,
      withSet: true,
      withSparseArray: true,
    });

    fc.assert(
      fc.property(anything, (payload) => {
        fc.pre(!holdsNegativeZero(payload));
        let arrived: unknown;
        try {
          arrived = roundTrip(payload);
        } catch (error) {
          expect(error).toBeInstanceOf(PayloadNotSerializableError);
          return;
        }
        // What is documented as a change: properties of undefined are left out, classes and prototypes are lost.
        expect(arrived).toEqual(payload);
      }),
      { numRuns: 2_000 },
    );
  });

  it('twenty thousand lists deep is kept or refused, never a crash', () => {
    let deep: unknown[] = [];
    for (let depth = 0; depth < 20_000; depth++) deep = [deep];

    let text: string | undefined;
    try {
      text = codecOf().encode('work', deep);
    } catch (error) {
      expect(error).toBeInstanceOf(PayloadNotSerializableError);
    }
    if (text !== undefined) expect(text).toHaveLength(40_002);
  });

  it('that mentions one object twice is no cycle, and arrives with two', () => {
    const shared = { n: 1 };

    expect(roundTrip({ a: shared, b: [shared, shared] })).toStrictEqual({
      a: { n: 1 },
      b: [{ n: 1 }, { n: 1 }],
    });
  });

  it('becomes plain where the documentation says so: Date, toJSON, properties of undefined, classes', () => {
    class Money {
      readonly amount = 5;
      get double(): number {
        return this.amount * 2;
      }
    }
    const instant = new Date('2030-01-01T00:00:00.000Z');

    expect(
      roundTrip({ instant, money: new Money(), gone: undefined, url: new URL('http://a.b/') }),
    ).toStrictEqual({
      instant: '2030-01-01T00:00:00.000Z',
      money: { amount: 5 },
      url: 'http://a.b/',
    });
    expect(roundTrip(instant)).toBe('2030-01-01T00:00:00.000Z');
    expect(roundTrip({ toJSON: () => ({ as: 'told' }) })).toStrictEqual({ as: 'told' });
  });

  it('becomes what toJSON gives, although that has a toJSON again or is the object itself', () => {
    class Copied {
      n = 1;
      toJSON(): Copied {
        return Object.assign(new Copied(), { n: this.n + 1 });
      }
    }

    expect(roundTrip({ copied: new Copied(), same: itself({ n: 1 }) })).toStrictEqual({
      copied: { n: 2 },
      same: { n: 1 },
    });
  });

  it('asks toJSON as often as JSON does: it may count, or be slow', () => {
    let asked = 0;
    const counting = {
      toJSON: () => {
        asked++;
        return { asked };
      },
    };

    expect(roundTrip(counting)).toEqual({ asked: 1 });
    expect(asked).toBe(1);
  });

  it('may carry what is not enumerable, as libraries attach it, under symbols too', () => {
    const tagged = Object.defineProperties({ n: 1 }, { hidden: { value: 2 }, [Symbol('tag')]: { value: 3 } });

    expect(roundTrip(tagged)).toStrictEqual({ n: 1 });
  });

  it('that holds __proto__ keys changes no prototype, neither on the way in nor out (B143)', async () => {
    const hostile: unknown = JSON.parse(
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"list":[{"__proto__":{"polluted":1}}]}',
    );

    const arrived = await deliver(hostile);

    expect(JSON.stringify(arrived)).toBe(JSON.stringify(hostile));
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(Object.getPrototypeOf(arrived)).toBe(Object.prototype);
    expect(Object.hasOwn(arrived as object, '__proto__')).toBe(true);
  });
});

function itself(value: object): object {
  return Object.defineProperty(value, 'toJSON', { value: () => value });
}

describe('a payload JSON would change in silence', () => {
  const cycle: { a: { list: unknown[] } } = { a: { list: [] } };
  cycle.a.list.push({ back: cycle });
  const selfish: unknown[] = [];
  selfish.push(selfish);
  class Titled extends Map {}

  it.each<[string, unknown, string]>([
    ['a cycle', cycle, 'payload.a.list[0].back refers back to itself'],
    ['a list in itself', selfish, 'payload[0] refers back to itself'],
    ['a bigint (B135)', 1n, 'payload is 1n'],
    ['a nested bigint (B135)', { items: [0, { price: 12n }] }, 'payload.items[1].price is 12n'],
    ['a function', () => 1, 'payload is a function'],
    ['a function among properties (B137)', { on: { done() {} } }, 'payload.on.done is a function'],
    ['a function in a list', [1, () => 1], 'payload[1] is a function'],
    ['a class', class {}, 'payload is a function'],
    ['a symbol', Symbol('s'), 'payload is Symbol(s)'],
    ['a symbol among properties', { s: Symbol('s') }, 'payload.s is Symbol(s)'],
    ['NaN (B133)', NaN, 'payload is NaN'],
    ['NaN among properties', { sum: { total: NaN } }, 'payload.sum.total is NaN'],
    ['Infinity', [Infinity], 'payload[0] is Infinity'],
    ['-Infinity', { min: -Infinity }, 'payload.min is -Infinity'],
    ['a Map (B137)', new Map(), 'payload is a Map'],
    ['a class of Map', { m: new Titled() }, 'payload.m is a Titled'],
    ['a Set (B137)', { tags: new Set(['a']) }, 'payload.tags is a Set'],
    ['a WeakMap', { w: new WeakMap() }, 'payload.w is a WeakMap'],
    ['a RegExp (B137)', { match: /x/ }, 'payload.match is a RegExp'],
    ['an Error', { cause: new TypeError('x') }, 'payload.cause is a TypeError'],
    ['a promise that was not awaited', { user: Promise.resolve(1) }, 'payload.user is a Promise'],
    ['a Buffer', { file: Buffer.from('abc') }, 'payload.file is a Buffer'],
    ['a typed array', { bytes: new Uint8Array(3) }, 'payload.bytes is a Uint8Array'],
    ['an ArrayBuffer', { bytes: new ArrayBuffer(3) }, 'payload.bytes is a ArrayBuffer'],
    ['undefined in a list', [1, undefined, 3], 'payload[1] is undefined'],
    ['a hole in a list', Object.assign([], { 1: 'x', length: 2 }), 'payload[0] is undefined'],
    ['undefined in a nested list', { rows: [[undefined]] }, 'payload.rows[0][0] is undefined'],
    ['an invalid Date', { due: new Date(NaN) }, 'payload.due is an invalid Date'],
    ['something under an odd key', { 'a b': { 'c.d': NaN } }, 'payload["a b"]["c.d"] is NaN'],
    ['something under an empty key', { '': NaN }, 'payload[""] is NaN'],
  ])('is refused and the place named: %s', (_what, payload, shown) => {
    const { message, code } = refusalOf(payload);

    expect(message).toContain(`Cannot schedule a job on topic "work": ${shown}`);
    expect(message).toMatch(/Give values the serializer can encode\.$/);
    expect(code).toBe('PAYLOAD_NOT_SERIALIZABLE');
  });

  it.each<[string, unknown]>([
    [
      'a Map of another realm, as test runners and vm have them',
      { by: runInNewContext('new Map([[1, 2]])') },
    ],
    ['a Set of another realm', { by: runInNewContext('new Set([1])') }],
    ['a RegExp of another realm', { by: runInNewContext('/x/') }],
    ['an Error of another realm', { by: runInNewContext('new TypeError("x")') }],
    ['an invalid Date of another realm', { by: runInNewContext('new Date(NaN)') }],
    ['toJSON that gives the object itself, which holds NaN', itself({ n: NaN })],
    ['a property under a symbol (B137)', { [Symbol('s')]: 1 }],
    ['toJSON that gives NaN', { toJSON: () => ({ n: NaN }) }],
    ['toJSON that gives a Map', { toJSON: () => new Map([[1, 2]]) }],
    ['toJSON that gives nothing, in a list', [{ toJSON: () => undefined }]],
  ])('is refused: %s', (_what, payload) => {
    refusalOf(payload);
  });

  it('is refused with what it throws itself', () => {
    const byGetter = refusalOf({
      get total() {
        throw new RangeError('no total yet');
      },
    });
    const byToJson = refusalOf({
      order: {
        toJSON() {
          throw new Error('detached entity');
        },
      },
    });

    expect(byGetter.message).toContain('no total yet');
    expect(byToJson.message).toContain('detached entity');
    expect(byToJson.message).toContain('topic "work"');
    expect(byToJson.cause).toBeInstanceOf(Error);
  });

  it('is refused although it throws something that is no error', () => {
    for (const thrown of [undefined, null, 'text', 5, Symbol('s'), Object.create(null)]) {
      const error = refusalOf({
        toJSON() {
          // oxlint-disable-next-line no-throw-literal -- that is the case
          throw thrown;
        },
      });
      expect(error.message).toContain('Cannot schedule a job on topic "work"');
    }
  });
});

describe('maxPayloadBytes', () => {
  it('counts bytes of UTF-8, not characters', () => {
    const codec = codecOf(jsonSerializer, 102);

    // With their quotes: 102, 102, 102 and 102 bytes.
    for (const text of ['x'.repeat(100), 'é'.repeat(50), '漢'.repeat(33) + 'x', '😀'.repeat(25)]) {
      expect(codec.encode('work', text)).toHaveLength(text.length + 2);
      expect(refusalOf(`${text}x`, codec).message).toContain(
        'the payload takes 103 bytes, more than maxPayloadBytes (102)',
      );
    }
  });

  it('is exact for any text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 60 }),
        fc.integer({ min: 1, max: 200 }),
        (text, maxBytes) => {
          const codec = codecOf(jsonSerializer, maxBytes);
          const bytes = Buffer.byteLength(JSON.stringify(text));

          if (bytes <= maxBytes) expect(codec.decode('work', 'id', codec.encode('work', text))).toBe(text);
          else expect(refusalOf(text, codec).message).toContain(`takes ${bytes} bytes`);
        },
      ),
    );
  });

  it('is a megabyte unless it is set, and says what to do past it (B147)', async () => {
    const clock = new VirtualClock();
    const { service, runtime } = await startInstance(clock, {});
    const large = await startInstance(clock, {}, { maxPayloadBytes: 20 * MEGABYTE });

    await service.schedule('work', 'x'.repeat(MEGABYTE - 2), { delay: 0 });
    const error: unknown = await service
      .schedule('work', 'x'.repeat(10 * MEGABYTE), { delay: 0 })
      .catch((e) => e);
    await large.service.schedule('work', 'x'.repeat(10 * MEGABYTE), { delay: 0 });

    expect(error).toBeInstanceOf(PayloadNotSerializableError);
    expect((error as Error).message).toMatch(
      /10485762 bytes.*Store the data elsewhere and schedule a reference/,
    );
    expect(await service.stats('work')).toMatchObject({ pending: 1 });
    await Promise.all([runtime.close(), large.runtime.close()]);
  });

  it('bounds what a serializer of your own makes, too', () => {
    const doubling: PayloadSerializer = {
      encode: (value) => String(value).repeat(2),
      decode: (text) => text,
    };

    expect(refusalOf('abcdef', codecOf(doubling, 10)).message).toContain('takes 12 bytes');
    expect(codecOf(doubling, 12).encode('work', 'abcdef')).toBe('abcdefabcdef');
  });
});

describe('a serializer of your own', () => {
  const reviving: PayloadSerializer = {
    encode: (value) => JSON.stringify(value, (_key, v: unknown) => (typeof v === 'bigint' ? `n:${v}` : v)),
    decode: (text) =>
      JSON.parse(text, (_key, v: unknown) =>
        typeof v === 'string' && v.startsWith('n:') ? BigInt(v.slice(2)) : v,
      ),
  };

  it('decides what can be scheduled and what the handler gets', async () => {
    const clock = new VirtualClock();
    const seen: unknown[] = [];
    const { service, runtime } = await startInstance(
      clock,
      { work: (job) => seen.push(job.payload) },
      { serializer: reviving },
    );

    await service.schedule('work', { amount: 12n }, { delay: 0 });
    await clock.advance(1);

    expect(seen).toEqual([{ amount: 12n }]);
    await runtime.close();
  });

  it('is called as a method', () => {
    class Prefixed implements PayloadSerializer {
      private readonly prefix = 'v1:';
      encode(value: unknown): string {
        return this.prefix + JSON.stringify(value);
      }
      decode(text: string): unknown {
        return JSON.parse(text.slice(this.prefix.length));
      }
    }
    const codec = codecOf(new Prefixed());

    expect(codec.decode('work', 'id', codec.encode('work', { a: 1 }))).toEqual({ a: 1 });
  });

  it.each<[string, unknown, string]>([
    ['an error', new RangeError('schema mismatch.'), 'schema mismatch'],
    ['a text', 'schema mismatch', 'schema mismatch'],
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['an object without a prototype', Object.create(null), 'an object'],
  ])('that throws %s refuses the job with that reason', async (_what, thrown, shown) => {
    const clock = new VirtualClock();
    const serializer: PayloadSerializer = {
      encode: () => {
        throw thrown;
      },
      decode: JSON.parse,
    };
    const { service, runtime } = await startInstance(clock, {}, { serializer });

    const error: unknown = await service.schedule('work', 1, { delay: 0 }).catch((e: unknown) => e);

    expect(error).toBeInstanceOf(PayloadNotSerializableError);
    expect((error as Error).message).toContain(`Cannot schedule a job on topic "work": `);
    expect((error as Error).message).toContain(shown);
    expect((error as Error).cause).toBe(thrown);
    expect(await service.stats('work')).toMatchObject({ pending: 0 });
    await runtime.close();
  });

  it.each<[string, unknown, string]>([
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a Buffer', Buffer.from('a'), 'an object'],
    ['a promise', Promise.resolve('a'), 'an object'],
    ['a number', 5, '5'],
    ['a String object', Object('a'), 'an object'],
  ])('that returns %s instead of a text refuses the job', (_what, returned, shown) => {
    const codec = codecOf({ encode: () => returned as string, decode: (text) => text });

    expect(refusalOf(1, codec).message).toContain(`the serializer returned ${shown} instead of a string`);
  });

  it('that cannot decode leaves the job among the dead letters, the text with it, and the others run (B057)', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const seen: unknown[] = [];
    const { service, runtime } = await startInstance(
      clock,
      { work: (job) => seen.push(job.payload) },
      { provider },
    );
    const job = {
      delayMs: 0,
      at: undefined,
      ifExists: 'keep',
      maxWaitMs: undefined,
      extras: undefined,
    } as const;
    await provider.add('work', [
      { ...job, id: 'a', payload: '1' },
      { ...job, id: 'b', payload: '{"cut' },
      { ...job, id: 'c', payload: '3' },
    ]);

    await clock.advance(1);

    expect(seen).toEqual([1, 3]);
    expect((await service.deadLetters.list('work')).items).toMatchObject([
      {
        id: 'b',
        reason: 'unreadable',
        payload: undefined,
        encodedPayload: '{"cut',
        lastError: { name: 'PayloadNotReadableError' },
      },
    ]);
    await runtime.close();
  });

  it('names job and topic when it cannot decode', () => {
    const codec = codecOf();

    expect(() => codec.decode('work', 'a1', '{"cut')).toThrow(PayloadNotReadableError);
    expect(() => codec.decode('work', 'a1', '{"cut')).toThrow(
      /^The payload of job "a1" of topic "work" cannot be decoded: /,
    );
    expect(() => codec.decode('work', 'a1', '{"cut')).toThrow(DelayQueueError);
  });
});

interface Order {
  items: string[];
}
const orderOf = (...items: string[]): Order => ({ items });

/** A handler that fails every attempt, and notes what each was given. */
async function startFailing(
  fail: (job: Job<Order>) => void,
): Promise<{ clock: VirtualClock; instance: Awaited<ReturnType<typeof startInstance>>; seen: string[] }> {
  const clock = new VirtualClock();
  const seen: string[] = [];
  const instance = await startInstance(clock, {
    work: {
      handle: (job) => {
        seen.push(JSON.stringify([job.payload, job.headers]));
        fail(job as Job<Order>);
        throw new Error('again');
      },
      options: { maxAttempts: 3, backoff: 10 },
    },
  });
  return { clock, instance, seen };
}

describe('a live object (B141)', () => {
  it('changed after schedule does not change the job', async () => {
    const { clock, instance, seen } = await startFailing(() => undefined);
    const order = orderOf('a');
    const headers = { tenant: 'one' };
    const scheduled = instance.service.schedule('work', order, { delay: 10, headers });

    order.items.push('b');
    headers.tenant = 'two';
    await scheduled;
    order.items.push('c');
    await clock.advance(10);

    expect(seen).toEqual(['[{"items":["a"]},{"tenant":"one"}]']);
    await instance.runtime.close();
  });

  it('changed after scheduleMany does not change the jobs', async () => {
    const { clock, instance, seen } = await startFailing(() => undefined);
    const order = orderOf('a');
    const requests = [
      { topic: 'work', payload: order, delay: 10, headers: {} },
      { topic: 'work', payload: order, delay: 10, headers: {} },
    ];
    const scheduled = instance.service.scheduleMany(requests);

    order.items.push('b');
    requests.pop();
    await scheduled;
    await clock.advance(10);

    expect(seen).toEqual(['[{"items":["a"]},{}]', '[{"items":["a"]},{}]']);
    await instance.runtime.close();
  });

  it('changed by the handler is seen unchanged by the retries', async () => {
    const { clock, instance, seen } = await startFailing(({ payload }) => void payload.items.push('spoilt'));
    await instance.service.schedule('work', orderOf('a'), { delay: 0, headers: { n: '1' } });

    await clock.advance(100);

    expect(seen).toEqual(Array.from({ length: 3 }, () => '[{"items":["a"]},{"n":"1"}]'));
    const { items } = await instance.service.deadLetters.list('work');
    expect(items).toMatchObject([{ payload: { items: ['a'] } }]);
    await instance.runtime.close();
  });

  it('is not handed over with the headers either: what the handler changes, the retries do not see', async () => {
    const { clock, instance, seen } = await startFailing(({ headers }) => {
      try {
        (headers as Record<string, string>)['n'] = 'spoilt';
      } catch {
        // Frozen is as good as copied.
      }
    });
    await instance.service.schedule('work', orderOf('a'), { delay: 0, headers: { n: '1' } });

    await clock.advance(100);

    expect(seen).toEqual(Array.from({ length: 3 }, () => '[{"items":["a"]},{"n":"1"}]'));
    await instance.runtime.close();
  });

  it('is not handed out by get and find: what the caller changes, the job does not see', async () => {
    const { clock, instance, seen } = await startFailing(() => undefined);
    await instance.service.schedule('work', orderOf('a'), { delay: 10, id: 'a', headers: { n: '1' } });
    const views = [await instance.service.get('work', 'a'), ...(await instance.service.find('work')).items];

    for (const view of views) {
      (view!.payload as Order).items.push('spoilt');
      try {
        (view!.headers as Record<string, string>)['n'] = 'spoilt';
      } catch {
        // Frozen is as good as copied.
      }
    }
    await clock.advance(10);

    expect(seen).toEqual(['[{"items":["a"]},{"n":"1"}]']);
    await instance.runtime.close();
  });

  it('is not shared by two jobs with one payload', async () => {
    const clock = new VirtualClock();
    const seen: unknown[] = [];
    const { service, runtime } = await startInstance(clock, { work: (job) => seen.push(job.payload) });
    const order = orderOf('a');

    await service.schedule('work', order, { delay: 0 });
    await service.schedule('work', order, { delay: 0 });
    await clock.advance(1);

    expect(seen[0]).toEqual(order);
    expect(seen[0]).not.toBe(order);
    expect(seen[0]).not.toBe(seen[1]);
    await runtime.close();
  });
});

/** JSON has no negative zero; looking for it in every payload would cost more than it is worth. */
function holdsNegativeZero(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(holdsNegativeZero);
  return Object.is(value, -0);
}
