import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import assert from 'node:assert/strict';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { backoffMs, judgeFailure, toStoredError } from '../../lib/dispatch/retry-policy.js';
import { type BackoffFunction, DeadLetterJobError, JobTimeoutError, RetryJobError } from '../../lib/index.js';
import type { Backoff } from '../../lib/job.js';
import { readTopicOptions } from '../../lib/topic-options.js';
import { ChildApp } from '../support/child-app.js';

const TEN_YEARS = 315_576_000_000;
/** Attempts worth a look: each early one, and those by which a power has long overflowed. */
const ATTEMPTS = [
  ...Array.from({ length: 64 }, (_, n) => n + 1),
  100,
  400,
  1_000,
  1_024,
  1_025,
  2_000,
  5_000,
];

const anyMs = fc.oneof(fc.constantFrom(0, 1, 999, 60_000, TEN_YEARS), fc.integer({ min: 0, max: TEN_YEARS }));
const anyShare = fc.oneof(fc.constantFrom(0, 0.2, 1), fc.double({ min: 0, max: 1, noNaN: true }));
const anyRandom = fc.oneof(
  fc.constantFrom(0, 1 - Number.EPSILON),
  fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
);
const anyFactor = fc.oneof(fc.constantFrom(1, 2, 10, 1_000), fc.double({ min: 1, max: 1_000, noNaN: true }));

const anyFixed = fc.record({ type: fc.constant('fixed' as const), delayMs: anyMs, jitter: anyShare });
const anyList = fc.record({
  type: fc.constant('list' as const),
  delaysMs: fc.array(anyMs, { minLength: 1, maxLength: 20 }),
  jitter: anyShare,
});
const anyExponential = fc.record({
  type: fc.constant('exponential' as const),
  delayMs: anyMs,
  factor: anyFactor,
  maxMs: anyMs,
  jitter: anyShare,
});
const anyBackoff: fc.Arbitrary<Backoff> = fc.oneof(anyFixed, anyList, anyExponential);

const withoutJitter = (backoff: Backoff): Backoff => ({ ...backoff, jitter: 0 });
const noRandom = (): number => 0;

describe('a backoff', () => {
  it('of any kind is finite, whole, and from zero to ten years at any attempt (B179)', () => {
    fc.assert(
      fc.property(anyBackoff, anyRandom, (backoff, random) => {
        for (const attempt of ATTEMPTS) {
          const waitMs = backoffMs(backoff, attempt, () => random);
          assert.ok(Number.isSafeInteger(waitMs), `${waitMs} at attempt ${attempt}`);
          assert.ok(waitMs >= 0 && waitMs <= TEN_YEARS, `${waitMs} at attempt ${attempt}`);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('of exponential kind is finite at each of 5 000 attempts, and never above its cap (B179, B181)', () => {
    const backoff = { type: 'exponential', delayMs: 1, factor: 2, maxMs: 60_000, jitter: 0.2 } as const;

    for (let attempt = 1; attempt <= 5_000; attempt++) {
      const waitMs = backoffMs(backoff, attempt, Math.random);
      assert.ok(Number.isInteger(waitMs) && waitMs >= 0 && waitMs <= 60_000);
    }
  });

  it('of exponential kind never goes above its cap, whatever its factor (B181)', () => {
    fc.assert(
      fc.property(anyExponential, anyRandom, (backoff, random) => {
        for (const attempt of ATTEMPTS) assert.ok(backoffMs(backoff, attempt, () => random) <= backoff.maxMs);
      }),
    );
    const steep = { type: 'exponential', delayMs: 5, factor: 10, maxMs: 60_000, jitter: 0 } as const;
    expect(backoffMs(steep, 400, noRandom)).toBe(60_000);
  });

  it('of exponential kind grows by its factor until the cap, and never shrinks', () => {
    const backoff = { type: 'exponential', delayMs: 100, factor: 3, maxMs: 5_000, jitter: 0 } as const;
    expect([1, 2, 3, 4, 5, 6].map((attempt) => backoffMs(backoff, attempt, noRandom))).toEqual([
      100, 300, 900, 2_700, 5_000, 5_000,
    ]);

    fc.assert(
      fc.property(anyExponential, (backoff) => {
        const waits = ATTEMPTS.map((attempt) => backoffMs(withoutJitter(backoff), attempt, noRandom));
        waits.forEach((wait, index) => assert.ok(index === 0 || wait >= waits[index - 1]!));
      }),
    );
  });

  it('of fixed kind is the same each time; of list kind the last wait is used for all that follow', () => {
    const fixed = { type: 'fixed', delayMs: 700, jitter: 0 } as const;
    const list = { type: 'list', delaysMs: [10, 200, 50], jitter: 0 } as const;

    expect([1, 2, 3, 4, 5_000].map((attempt) => backoffMs(fixed, attempt, noRandom))).toEqual([
      700, 700, 700, 700, 700,
    ]);
    expect([1, 2, 3, 4, 5_000].map((attempt) => backoffMs(list, attempt, noRandom))).toEqual([
      10, 200, 50, 50, 50,
    ]);
  });

  it('with jitter is shorter by at most its share, and never longer', () => {
    fc.assert(
      fc.property(anyBackoff, anyRandom, fc.integer({ min: 1, max: 5_000 }), (backoff, random, attempt) => {
        const full = backoffMs(withoutJitter(backoff), attempt, noRandom);
        const waitMs = backoffMs(backoff, attempt, () => random);

        assert.ok(waitMs <= full, `${waitMs} above ${full}`);
        assert.ok(waitMs >= Math.floor(full * (1 - backoff.jitter)), `${waitMs} below the share of ${full}`);
      }),
      { numRuns: 1_000 },
    );
  });

  it('with jitter spreads over its whole share', () => {
    const backoff = { type: 'fixed', delayMs: 10_000, jitter: 0.2 } as const;
    const waits = Array.from({ length: 2_000 }, () => backoffMs(backoff, 1, Math.random));

    expect(Math.min(...waits)).toBeLessThan(8_200);
    expect(Math.max(...waits)).toBeGreaterThan(9_800);
    expect(backoffMs(backoff, 1, () => 0)).toBe(10_000);
    expect(backoffMs(backoff, 1, () => 0.5)).toBe(9_000);
  });

  it('that options let through is finite at any attempt', () => {
    const holed: number[] = [];
    holed[1] = 5;
    for (const backoff of [
      0,
      '10s',
      [0],
      ['1s', 5],
      holed,
      { type: 'exponential', delay: '1h' },
    ] as never[]) {
      let read: Backoff;
      try {
        read = readTopicOptions({ backoff }, 'x').backoff as Backoff;
      } catch {
        // Refused is as good.
        continue;
      }
      for (const attempt of ATTEMPTS) expect(backoffMs(read, attempt, Math.random)).toBeGreaterThanOrEqual(0);
    }
  });
});

const throwing = (message: string) => (): never => {
  throw new Error(message);
};

describe('a failed attempt', () => {
  const fixed: Backoff = { type: 'fixed', delayMs: 700, jitter: 0 };
  const judge = (
    error: unknown,
    attempt = 1,
    { maxAttempts = 3, backoff = fixed }: { maxAttempts?: number; backoff?: Backoff | BackoffFunction } = {},
  ): ReturnType<typeof judgeFailure> => judgeFailure(error, attempt, { maxAttempts, backoff }, noRandom);
  /** What stands in for an answer that is none. */
  const DEFAULT_FIRST_WAIT = 1_000;

  it('is followed by another until maxAttempts, and then is final', () => {
    expect([1, 2, 3, 4].map((attempt) => judge(new Error('x'), attempt))).toEqual([
      { outcome: 'retry', delayMs: 700 },
      { outcome: 'retry', delayMs: 700 },
      { outcome: 'dead-letter', reason: 'attempts-exhausted' },
      { outcome: 'dead-letter', reason: 'attempts-exhausted' },
    ]);
    expect(judge(new Error('x'), 1, { maxAttempts: 1 })).toMatchObject({ outcome: 'dead-letter' });
  });

  it('waits its normal backoff after a timeout, as after any other error (B201)', () => {
    expect(judge(new JobTimeoutError('work', 'a', 1_000))).toEqual({ outcome: 'retry', delayMs: 700 });
  });

  it('with DeadLetterJobError is final at once', () => {
    class NoSuchCustomer extends DeadLetterJobError {}

    for (const error of [new DeadLetterJobError('nonsense'), new NoSuchCustomer('c1')]) {
      expect(judge(error)).toEqual({ outcome: 'dead-letter', reason: 'handler-request' });
      expect(judge(error, 3)).toEqual({ outcome: 'dead-letter', reason: 'handler-request' });
    }
  });

  it.each([
    [0, 0],
    [5_000, 5_000],
    [0.4, 1],
    [TEN_YEARS, TEN_YEARS],
  ])('with RetryJobError of %d ms waits as it asks, whatever the backoff', (delayMs, expected) => {
    expect(judge(new RetryJobError({ delayMs }))).toEqual({ outcome: 'retry', delayMs: expected });
    expect(judge(new RetryJobError({ delayMs }), 1, { backoff: throwing('not asked') })).toEqual({
      outcome: 'retry',
      delayMs: expected,
    });
  });

  it('with RetryJobError counts: the last attempt is the last', () => {
    expect(judge(new RetryJobError({ delayMs: 5 }), 3)).toEqual({
      outcome: 'dead-letter',
      reason: 'attempts-exhausted',
    });
  });

  it.each([NaN, -1, Infinity, undefined, null, 'soon', {}])(
    'with RetryJobError of %p is retried at a sensible time',
    (delayMs) => {
      const verdict = judge(new RetryJobError({ delayMs: delayMs as never }));

      expect(verdict).toMatchObject({ outcome: 'retry' });
      expect([700, DEFAULT_FIRST_WAIT]).toContain((verdict as { delayMs: number }).delayMs);
    },
  );

  it('asks a backoff function with the attempt that failed and the error', () => {
    const asked: unknown[] = [];
    const error = new Error('x');
    const backoff: BackoffFunction = (...args) => {
      asked.push(args);
      return '5s';
    };

    expect(judge(error, 2, { backoff })).toEqual({ outcome: 'retry', delayMs: 5_000 });
    expect(asked).toEqual([[2, error]]);
  });

  it.each([
    [0, 0],
    [0.4, 1],
    ['1m', 60_000],
    [TEN_YEARS, TEN_YEARS],
  ])('takes %p from a backoff function', (answer, expected) => {
    expect(judge('x', 1, { backoff: () => answer })).toEqual({ outcome: 'retry', delayMs: expected });
  });

  it.each<[string, () => unknown]>([
    ['NaN', () => NaN],
    ['a negative number', () => -1],
    ['Infinity', () => Infinity],
    ['too long', () => TEN_YEARS + 1],
    ['undefined', () => undefined],
    ['null', () => null],
    ['a text that is no duration', () => 'soon'],
    ['a bigint', () => 5n],
    ['an object', () => ({})],
    ['a promise', () => Promise.resolve(5)],
    ['a symbol', () => Symbol('s')],
    ['a Proxy that refuses everything', () => noEntry],
    [
      'nothing but an error',
      () => {
        throw new Error('x');
      },
    ],
    [
      'nothing but undefined, thrown',
      () => {
        throw undefined;
      },
    ],
  ])('falls back to the default backoff when a backoff function gives %s', (_what, backoff) => {
    expect(judge('x', 1, { backoff: backoff as BackoffFunction })).toEqual({
      outcome: 'retry',
      delayMs: DEFAULT_FIRST_WAIT,
    });
    expect(judge('x', 3, { maxAttempts: 9, backoff: backoff as BackoffFunction })).toEqual({
      outcome: 'retry',
      delayMs: 4 * DEFAULT_FIRST_WAIT,
    });
  });

  it('is judged whatever was thrown', () => {
    for (const [what, thrown] of oddThrows) {
      expect([what, judge(thrown)]).toEqual([what, { outcome: 'retry', delayMs: 700 }]);
    }
  });
});

const noEntry = new Proxy(
  {},
  {
    get: throwing('get trap'),
    has: throwing('has trap'),
    getPrototypeOf: throwing('getPrototypeOf trap'),
    ownKeys: throwing('ownKeys trap'),
    getOwnPropertyDescriptor: throwing('getOwnPropertyDescriptor trap'),
  },
);

function errorWith(property: 'name' | 'message' | 'stack', descriptor: PropertyDescriptor): Error {
  return Object.defineProperty(new TypeError('the message'), property, { configurable: true, ...descriptor });
}

const oddThrows: readonly (readonly [string, unknown])[] = [
  ['undefined', undefined],
  ['null', null],
  ['zero', 0],
  ['NaN', NaN],
  ['an empty text', ''],
  ['a text', 'out of stock'],
  ['a long text', 'x'.repeat(100_000)],
  ['a bigint', 10n],
  ['false', false],
  ['a symbol', Symbol('s')],
  ['a function', throwing('called')],
  ['a class', Error],
  ['an object', { code: 'E' }],
  ['an object without a prototype', Object.create(null)],
  ['a list', [new Error('x')]],
  ['a promise', Promise.resolve()],
  ['a frozen error', Object.freeze(new TypeError('frozen'))],
  ['an error with a name that throws', errorWith('name', { get: throwing('name') })],
  ['an error with a message that throws', errorWith('message', { get: throwing('message') })],
  ['an error with a stack that throws', errorWith('stack', { get: throwing('stack') })],
  ['an error with a name that is a symbol', errorWith('name', { value: Symbol('s') })],
  [
    'an error with a message that cannot be text',
    errorWith('message', { value: { toString: throwing('text') } }),
  ],
  ['an error with a message that is an object', errorWith('message', { value: Object.create(null) })],
  ['an error without a stack', errorWith('stack', { value: undefined })],
  ['an error whose stack is no text', errorWith('stack', { value: { deep: true } })],
  ['an error that lost its prototype', Object.setPrototypeOf(new Error('x'), null)],
  ['an error that is its own cause', selfCaused()],
  ['a Proxy that refuses everything', noEntry],
  ['an error behind it', Object.create(noEntry)],
  ['a revoked Proxy', revoked()],
];

function selfCaused(): Error {
  const error = new Error('x');
  error.cause = error;
  return error;
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

describe('a stored error', () => {
  it.each(oddThrows)('of %s is bounded, plain JSON, and says something (B193, B195)', (_what, thrown) => {
    const stored = toStoredError(thrown);

    expect(stored.name).toMatch(/./);
    expect(typeof stored.message).toBe('string');
    expect(stored.name.length).toBeLessThanOrEqual(1_000);
    expect(stored.message.length).toBeLessThanOrEqual(1_000);
    expect((stored.stack ?? '').length).toBeLessThanOrEqual(4_000);
    expect(JSON.parse(JSON.stringify(stored))).toEqual(stored);
  });

  it('has name, message and stack of an error', () => {
    class OutOfStock extends Error {
      override name = 'OutOfStock';
    }
    const error = new OutOfStock('no more of p1');

    expect(toStoredError(error)).toEqual({
      name: 'OutOfStock',
      message: 'no more of p1',
      stack: error.stack,
    });
    expect(toStoredError(new Error(''))).toMatchObject({ name: 'Error', message: '' });
  });

  it.each([
    [undefined, 'The handler threw undefined.'],
    [null, 'The handler threw null.'],
    [0, 'The handler threw 0.'],
    ['', 'The handler threw "".'],
    ['out of stock', 'The handler threw "out of stock".'],
    [10n, 'The handler threw 10n.'],
    [Symbol('s'), 'The handler threw Symbol(s).'],
    [Object.create(null), 'The handler threw an object.'],
  ])('of %p says what was thrown (B195)', (thrown, message) => {
    expect(toStoredError(thrown)).toEqual({ name: 'NonError', message });
  });

  it('keeps the beginning of 50 kB of stack and of a long message, and shows that there was more (B193)', () => {
    const error = new Error(`m${'x'.repeat(50_000)}`);
    error.stack = `s${'y'.repeat(50_000)}`;

    const { message, stack } = toStoredError(error);

    expect(message).toHaveLength(1_000);
    expect(message).toMatch(/^mx+…$/);
    expect(stack).toHaveLength(4_000);
    expect(stack).toMatch(/^sy+…$/);
  });

  it('is not cut in the middle of a character', () => {
    for (const start of ['', 'x']) {
      const { message } = toStoredError(new Error(start + '😀'.repeat(1_000)));

      expect(message.isWellFormed()).toBe(true);
    }
  });

  it('keeps the message of an error whose stack cannot be read', () => {
    const stored = toStoredError(errorWith('stack', { get: throwing('stack') }));

    expect(stored).toMatchObject({ name: 'TypeError', message: 'the message' });
  });

  it('keeps name and message of an error from another realm, as jest and vm have them', () => {
    const error: unknown = runInNewContext('new TypeError("from afar")');

    expect(toStoredError(error)).toMatchObject({ name: 'TypeError', message: 'from afar' });
  });
});

const program = (setUp: string): string => `
  import { DelayQueueRuntime } from './lib/delay-queue.runtime.js';
  const ran: number[] = [];
  ${setUp}
  const runtime = await DelayQueueRuntime.open('default', {});
  runtime.register([{
    topic: 'work', queue: 'default', options, recurrence: {}, name: 'A.b', module: 'M', key: 'run',
    instance: { run: (payload) => { ran.push(payload); if (payload === 1) throw thrown; } },
  }]);
  await runtime.start();
  await runtime.service.schedule('work', 1, { delay: 0, maxAttempts: 2 });
  await runtime.service.schedule('work', 2, { delay: 20 });
  for (let n = 0; n < 200 && !ran.includes(2); n++) await new Promise((resolve) => setTimeout(resolve, 20));
  console.log(JSON.stringify(ran.includes(2)));
  await runtime.close();
`;

describe('what a handler throws', () => {
  let app: ChildApp;
  beforeAll(async () => {
    app = await ChildApp.create();
  });
  afterAll(() => app.dispose());

  it('is a failure like any other: the next job runs', async () => {
    const exit = await app.run(
      program(`
        const thrown = undefined;
        const options = { concurrency: 1, backoff: 0 };
      `),
    );

    expect(exit).toMatchObject({ code: 0, stdout: 'true\n', stderr: '' });
  });

  it('never ends the process nor blocks its slot, even a Proxy that refuses everything (B195, B197)', async () => {
    const exit = await app.run(
      program(`
        const refuse = () => { throw new Error('trap'); };
        const thrown = new Proxy({}, { get: refuse, has: refuse, getPrototypeOf: refuse });
        const options = { concurrency: 1, backoff: 0 };
      `),
    );

    expect(exit).toMatchObject({ code: 0, stdout: 'true\n', stderr: '' });
  });

  it('never ends the process when the backoff function is asynchronous and rejects', async () => {
    const exit = await app.run(
      program(`
        const thrown = new Error('x');
        const options = { concurrency: 1, backoff: async () => { throw new Error('no backoff either'); } };
      `),
    );

    expect(exit).toMatchObject({ code: 0, stdout: 'true\n', stderr: '' });
  });
});
