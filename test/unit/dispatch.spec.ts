import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import assert from 'node:assert/strict';
import { readFile } from 'node:fs';
import * as fc from 'fast-check';
import { EMPTY, from, of, throwError } from 'rxjs';
import {
  DeadLetterJobError,
  type Job,
  JobTimeoutError,
  PartialScheduleError,
  type Precision,
  QueueFullError,
  RetryJobError,
  type ScheduleResult,
  SystemClock,
} from '../../lib/index.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';
import {
  type Handle,
  HeldHandler,
  type Instance,
  LastingProvider,
  startInstance,
} from '../support/instances.js';
import { Signal } from '../support/signal.js';

const DAY = 86_400_000;
const START = Date.UTC(2030, 0, 1);

/** Notes how often a timer is set. */
class CountingClock extends VirtualClock {
  /** Timers; a call in the next turn is none. */
  set = 0;

  override callAt(atMs: number, callback: () => void): () => void {
    if (atMs > this.now()) this.set++;
    return super.callAt(atMs, callback);
  }
}

/** Notes how often jobs are asked for. */
class CountingProvider extends LastingProvider {
  claims = 0;

  override claim(...args: Parameters<LastingProvider['claim']>): ReturnType<LastingProvider['claim']> {
    this.claims++;
    return super.claim(...args);
  }
}

let clock: CountingClock;
let instances: Instance[];

beforeEach(() => {
  clock = new CountingClock(START);
  instances = [];
});

afterEach(async () => {
  await Promise.all(instances.map(({ runtime }) => runtime.close()));
});

async function start(
  ...[handlers, options]: [Parameters<typeof startInstance>[1], Parameters<typeof startInstance>[2]?]
): Promise<Instance> {
  const instance = await startInstance(clock, handlers, options);
  instances.push(instance);
  return instance;
}

/** On the clocks of the machine. */
async function startReal(
  handlers: Parameters<typeof startInstance>[1],
  precision: Precision = 'normal',
): Promise<Instance> {
  return start(handlers, { clock: new SystemClock(precision) });
}

/** More is due than can run at once: gives it turns of the event loop until it has run. */
async function turnsUntil(isDone: () => boolean, limit = 100_000): Promise<void> {
  for (let turn = 0; turn < limit; turn++) {
    if (isDone()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`Not done in ${limit} turns`);
}

/** A handler that takes time. */
function taking(ms: number, then: Handle = () => undefined): Handle {
  return async (job) => {
    await new Promise<void>((resolve) => clock.callAt(clock.now() + ms, resolve));
    return then(job);
  };
}

describe('a job', () => {
  it('tells its handler everything, exactly', async () => {
    const seen: Job[] = [];
    const one = await start({ work: (job) => seen.push(job) });
    await clock.advance(500);

    await one.service.schedule(
      'work',
      { n: 1 },
      { delay: 1_000, id: 'a', headers: { tenant: 'shop', '': 'empty' }, maxAttempts: 7 },
    );
    await clock.advance(1_000);

    const [job] = seen;
    expect({
      id: job!.id,
      topic: job!.topic,
      payload: job!.payload,
      attempt: job!.attempt,
      maxAttempts: job!.maxAttempts,
      dueAt: job!.dueAt,
      scheduledAt: job!.scheduledAt,
      latenessMs: job!.latenessMs,
      headers: job!.headers,
      aborted: job!.signal.aborted,
    }).toEqual({
      id: 'a',
      topic: 'work',
      payload: { n: 1 },
      attempt: 1,
      maxAttempts: 7,
      dueAt: START + 1_500,
      scheduledAt: START + 500,
      latenessMs: 0,
      headers: { tenant: 'shop', '': 'empty' },
      aborted: false,
    });
    expect(Number.isSafeInteger(job!.token)).toBe(true);
  });

  it('has no headers, a generated id and the attempts of the topic where none are given', async () => {
    const seen: Job[] = [];
    const one = await start({ work: (job) => seen.push(job) });

    const { id } = await one.service.schedule('work', undefined, { at: START - 5 });
    await clock.advance(1);

    expect(seen[0]).toMatchObject({ id, maxAttempts: 5, headers: {}, dueAt: START - 5, latenessMs: 5 });
    expect(seen[0]!.payload).toBeUndefined();
  });

  it('has one signal, which stays quiet after the end', async () => {
    const signals: AbortSignal[] = [];
    await start({ work: (job) => void signals.push(job.signal, job.signal) });

    await instances[0]!.service.schedule('work', null, { delay: 0 });
    await clock.advance(60_000);

    expect(signals[0]).toBe(signals[1]);
    expect(signals[0]!.aborted).toBe(false);
  });

  it('can be copied, logged and sent on: what it tells is its own', async () => {
    const copies: unknown[] = [];
    const one = await start({ work: (job) => copies.push({ ...job }, JSON.parse(JSON.stringify(job))) });

    await one.service.schedule('work', 'p', { delay: 0, id: 'a' });
    await clock.advance(1);

    const facts = {
      id: 'a',
      topic: 'work',
      payload: 'p',
      attempt: 1,
      maxAttempts: 5,
      dueAt: START,
      headers: {},
    };
    expect(copies).toEqual([expect.objectContaining(facts), expect.objectContaining(facts)]);
  });

  it('has a token that rises with every run on the topic, retries included', async () => {
    const tokens: number[] = [];
    const one = await start({
      work: {
        handle: ({ token, attempt }) => {
          tokens.push(token);
          if (attempt < 3) throw new Error('again');
        },
        options: { backoff: 5, concurrency: 3 },
      },
    });

    await one.service.scheduleMany(Array.from({ length: 5 }, (_, n) => ({ topic: 'work', delay: n })));
    await clock.advance(100);

    expect(tokens).toHaveLength(15);
    expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
  });

  it('is late by what the loop was blocked for, and never early', async () => {
    const lateness: number[] = [];
    const one = await start({ work: (job) => lateness.push(job.latenessMs) });
    await one.service.schedule('work', null, { delay: 100 });
    await one.service.schedule('work', null, { at: START + 100 });
    await one.service.schedule('work', null, { delay: 10_000 });

    clock.jump(130.5);
    await clock.advance(20_000);

    expect(lateness).toEqual([30.5, 30.5, 0]);
  });

  it('of its own topic can be scheduled by a handler; a far one stays while others run (B015)', async () => {
    const ran: unknown[] = [];
    const one = await start({
      work: async ({ payload }) => {
        ran.push(payload);
        if (payload === 'first') {
          await one.service.schedule('work', 'far', { delay: 30 * DAY });
          await one.service.schedule('work', 'now', { delay: 0 });
        }
      },
    });
    await one.service.scheduleMany(
      ['first', 'second', 'third'].map((payload) => ({ topic: 'work', payload, delay: 0 })),
    );

    await clock.advance(30 * DAY - 1);
    const before = [...ran];
    await clock.advance(1);

    expect(before).toEqual(['first', 'second', 'third', 'now']);
    expect(ran.at(-1)).toBe('far');
  });

  it('runs once at each turn of a chain that schedules itself', async () => {
    const ranAt: number[] = [];
    const one = await start({
      work: async () => {
        ranAt.push(clock.wallNow() - START);
        await one.service.schedule('work', null, { delay: 1_000, id: 'chain' });
      },
    });
    await one.service.schedule('work', null, { delay: 1_000, id: 'chain' });

    await clock.advance(5_500);

    expect(ranAt).toEqual([1_000, 2_000, 3_000, 4_000, 5_000]);
    expect(await one.service.stats('work')).toMatchObject({ pending: 1 });
  });
});

describe('the order', () => {
  it('is that of due times, then of scheduling, over delays and instants', async () => {
    const ran: unknown[] = [];
    const one = await start({
      work: { handle: ({ payload }) => ran.push(payload), options: { concurrency: 1 } },
    });
    await one.service.schedule('work', 'c', { delay: 30 });
    await one.service.schedule('work', 'b1', { at: START + 20 });
    await one.service.schedule('work', 'b2', { delay: 20 });
    await one.service.scheduleMany([
      { topic: 'work', payload: 'a', at: START + 10 },
      { topic: 'work', payload: 'b3', at: START + 20 },
    ]);
    await one.service.schedule('work', 'b4', { delay: '20ms' });

    clock.jump(1_000);
    await clock.advance(0);
    await turnsUntil(() => ran.length === 6);

    expect(ran).toEqual(['a', 'b1', 'b2', 'b3', 'b4', 'c']);
  });

  it('holds in a flood of ten thousand due jobs, each of which runs once', async () => {
    const ran: number[] = [];
    const one = await start({
      work: { handle: ({ payload }) => ran.push(payload as number), options: { concurrency: 1 } },
    });

    await one.service.scheduleMany(
      Array.from({ length: 10_000 }, (_, payload) => ({ topic: 'work', payload, delay: 0 })),
    );
    await turnsUntil(() => ran.length === 10_000);
    await clock.settle();

    expect(ran).toEqual(Array.from({ length: 10_000 }, (_, n) => n));
    expect(await one.service.stats('work')).toMatchObject({ pending: 0, inFlight: 0, dead: 0 });
  });

  it('runs everything that falls due in one move of a test clock, as the README says, and at its time', async () => {
    const ranAt: number[] = [];
    const one = await start({ work: { handle: () => ranAt.push(clock.now()), options: { concurrency: 1 } } });
    await one.service.scheduleMany(Array.from({ length: 100 }, () => ({ topic: 'work', delay: 1_000 })));

    await clock.advance(30 * 60_000);

    expect(ranAt).toEqual(Array.from({ length: 100 }, () => 1_000));
  });

  it('is kept at its time, whatever is scheduled, moved, cancelled and run beside it', async () => {
    const anyAct = fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({
          do: fc.constantFrom('delay', 'at', 'replace'),
          id: fc.nat(15),
          ms: fc.nat(60),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          do: fc.constantFrom('move delay', 'move at'),
          id: fc.nat(15),
          ms: fc.nat(60),
        }),
      },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel'), id: fc.nat(15), ms: fc.constant(0) }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('advance'), id: fc.constant(0), ms: fc.nat(40) }) },
    );

    await fc.assert(
      fc.asyncProperty(fc.array(anyAct, { maxLength: 60, size: 'max' }), async (acts) => {
        const time = new VirtualClock(START);
        const ran: string[] = [];
        const { service, runtime } = await startInstance(time, {
          work: ({ id, payload }) => ran.push(`${id} #${payload as number} at ${time.wallNow() - START}`),
        });
        const pending = new Map<string, { at: number; version: number }>();
        const expected: string[] = [];
        const pass = (until: number): void => {
          const due = [...pending].filter(([, { at }]) => at <= until);
          for (const [id, { at, version }] of due.toSorted(([, a], [, b]) => a.at - b.at)) {
            expected.push(`${id} #${version} at ${at}`);
            pending.delete(id);
          }
        };

        for (const [version, { do: act, id: number, ms }] of acts.entries()) {
          const id = `job ${number}`;
          const now = time.wallNow() - START;
          const due = act.endsWith('at') ? { at: START + now + ms } : { delay: ms };
          if (act === 'advance') await time.advance(ms);
          else if (act === 'cancel') {
            const status = await service.cancel('work', id);
            assert.equal(status, pending.delete(id) ? 'cancelled' : 'unknown');
          } else if (act.startsWith('move')) {
            const status = await service.reschedule('work', id, due);
            assert.equal(status, pending.has(id) ? 'rescheduled' : 'unknown');
            if (status === 'rescheduled') pending.set(id, { ...pending.get(id)!, at: now + ms });
          } else {
            const { status } = await service.schedule('work', version, {
              ...due,
              id,
              ifExists: act === 'replace' ? 'replace' : 'keep',
            });
            assert.equal(status, pending.has(id) ? (act === 'replace' ? 'replaced' : 'kept') : 'scheduled');
            if (status !== 'kept') pending.set(id, { at: now + ms, version });
          }
          await time.settle();
          pass(time.wallNow() - START);
        }
        await time.advance(1_000);
        pass(Infinity);
        await runtime.close();

        const byTime = (run: string): number => Number(run.split(' at ')[1]);
        const sorted = (runs: string[]): string[] =>
          runs.toSorted((a, b) => byTime(a) - byTime(b) || (a < b ? -1 : 1));
        assert.deepEqual(
          ran.map(byTime),
          ran.map(byTime).toSorted((a, b) => a - b),
        );
        assert.deepEqual(sorted(ran), sorted(expected));
      }),
      { numRuns: 60 },
    );
  });
});

describe('concurrency', () => {
  it('is that of the topic, whatever others do', async () => {
    const most: Record<string, number> = {};
    const running: Record<string, number> = {};
    const counted = (options: { concurrency?: number }): { handle: Handle; options: object } => ({
      options,
      handle: async (job) => {
        running[job.topic] = (running[job.topic] ?? 0) + 1;
        most[job.topic] = Math.max(most[job.topic] ?? 0, running[job.topic]!);
        await taking(10)(job);
        running[job.topic]!--;
      },
    });
    const one = await start({
      one: counted({ concurrency: 1 }),
      three: counted({ concurrency: 3 }),
      standard: counted({}),
    });

    await one.service.scheduleMany(
      ['one', 'three', 'standard'].flatMap((topic) =>
        Array.from({ length: 40 }, () => ({ topic, delay: 0 })),
      ),
    );
    await clock.advance(1_000);

    expect(most).toEqual({ one: 1, three: 3, standard: 10 });
    expect(running).toEqual({ one: 0, three: 0, standard: 0 });
  });

  it('leaves no slot free while a job is due, and starts each as soon as it may', async () => {
    const anyJob = fc.record({ due: fc.nat(60), takes: fc.integer({ min: 1, max: 25 }) });

    await fc.assert(
      fc.asyncProperty(
        fc.array(anyJob, { minLength: 1, maxLength: 40, size: 'max' }),
        fc.integer({ min: 1, max: 5 }),
        async (jobs, concurrency) => {
          const time = new VirtualClock(START);
          const started: number[] = [];
          const handle: Handle = async ({ payload }) => {
            const index = payload as number;
            started[index] = time.now();
            await new Promise<void>((resolve) => time.callAt(time.now() + jobs[index]!.takes, resolve));
          };
          const { service, runtime } = await startInstance(time, {
            work: { handle, options: { concurrency } },
          });
          await service.scheduleMany(
            jobs.map(({ due }, payload) => ({ topic: 'work', payload, delay: due })),
          );

          await time.advance(2_000);
          await runtime.close();

          const freeAt = Array.from({ length: concurrency }, () => 0);
          const order = jobs
            .map(({ due }, index) => ({ due, index }))
            .toSorted((a, b) => a.due - b.due || a.index - b.index);
          for (const { due, index } of order) {
            const slot = freeAt.indexOf(Math.min(...freeAt));
            const startAt = Math.max(due, freeAt[slot]!);
            assert.equal(started[index], startAt, `job ${index} of ${JSON.stringify(jobs)}`);
            freeAt[slot] = startAt + jobs[index]!.takes;
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('of a topic whose handlers hang holds up no other (B203)', async () => {
    const hung = new HeldHandler();
    const ranAt: number[] = [];
    const one = await start({
      hung: { handle: hung.handle, options: { concurrency: 2, lease: '1h' } },
      calm: () => ranAt.push(clock.now()),
    });
    await one.service.scheduleMany(Array.from({ length: 20 }, () => ({ topic: 'hung', delay: 0 })));
    await one.service.scheduleMany([100, 200, 300].map((delay) => ({ topic: 'calm', delay })));

    await clock.advance(1_000);

    expect(hung.runs).toHaveLength(2);
    expect(ranAt).toEqual([100, 200, 300]);
    for (let n = 0; n < 20; n++) {
      hung.runs[n]!.end();
      await clock.settle();
    }
  });
});

describe('the event loop', () => {
  /** Far longer than a loop that is let go on needs. One that is not would never end, nor let a limit of jest's end it. */
  const LIMIT_MS = 4_000;

  it.each([1, 10])('goes on beside a topic that is never empty, at concurrency %d', async (concurrency) => {
    const began = performance.now();
    let timers = 0;
    let reads = 0;
    const enough = new Signal('twenty timers and twenty reads beside a topic that is never empty');
    const isEnough = (): boolean => timers >= 20 && reads >= 20;
    const calm = new Signal('a job on another topic');
    const one = await startReal({
      busy: {
        handle: () => {
          if (isEnough() || performance.now() - began > LIMIT_MS) return enough.fire();
          void one.service.schedule('busy', null, { delay: 0 });
        },
        options: { concurrency },
      },
      calm: () => calm.fire(),
    });
    const tick = (): void => {
      timers++;
      if (timers < 20) setTimeout(tick, 0);
    };
    const read = (): void => readFile('package.json', () => (++reads < 20 ? read() : undefined));

    setTimeout(tick, 0);
    read();
    await one.service.schedule('calm', null, { delay: 5 });
    await one.service.scheduleMany(
      Array.from({ length: 2 * concurrency }, () => ({ topic: 'busy', delay: 0 })),
    );
    await enough.next();
    await calm.next();

    expect({ timers, reads }).toEqual({ timers: 20, reads: 20 });
  });

  it('goes on while a backlog of fifty thousand runs', async () => {
    let runs = 0;
    let runsAtTimer = -1;
    const done = new Signal('the end of the backlog');
    const one = await startReal({
      work: () => {
        if (++runs === 50_000) done.fire();
      },
    });

    await one.service.scheduleMany(Array.from({ length: 50_000 }, () => ({ topic: 'work', delay: 0 })));
    setTimeout(() => (runsAtTimer = runs), 1);
    await done.next(30_000);

    expect(runsAtTimer).toBeGreaterThanOrEqual(0);
    expect(runsAtTimer).toBeLessThan(50_000);
  });
});

describe('real time', () => {
  it.each<Precision>(['normal', 'high'])('lets no job start early, with %s precision', async (precision) => {
    const count = 1_000;
    const early: number[] = [];
    let ran = 0;
    const done = new Signal(`${count} jobs`);
    const one = await startReal(
      {
        work: {
          handle: ({ payload, latenessMs, dueAt }) => {
            const { notBefore, byWall } = payload as { notBefore?: number; byWall?: number };
            if (notBefore !== undefined && performance.now() < notBefore)
              early.push(performance.now() - notBefore);
            if (byWall !== undefined && Date.now() < byWall) early.push(Date.now() - byWall);
            if (latenessMs < 0 || Date.now() < dueAt - 1) early.push(latenessMs);
            if (++ran === count) done.fire();
          },
          options: { concurrency: 4 },
        },
      },
      precision,
    );

    for (let n = 0; n < count; n++) {
      const delay = Math.random() * 200;
      if (n % 2) void one.service.schedule('work', { notBefore: performance.now() + delay }, { delay });
      else void one.service.schedule('work', { byWall: Date.now() + delay }, { at: Date.now() + delay });
    }
    await done.next();

    expect(early).toEqual([]);
    expect(ran).toBe(count);
  });
});

describe('a handler that succeeds', () => {
  const circular: { self?: unknown } = {};
  circular.self = circular;

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['a value', 5],
    ['something circular (B139)', circular],
    ['a bigint (B139)', 10n],
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['fifty megabytes (B139)', Buffer.alloc(50 * 1_048_576)],
    ['an object without a prototype', Object.create(null)],
    ['an error, not thrown', new Error('a value')],
    ['a promise', Promise.resolve(circular)],
    ['an Observable of values', of(1, circular, 10n)],
    ['an empty Observable', EMPTY],
    ['an Observable that takes a while', from(Promise.resolve(1))],
    ['a promise of an Observable', Promise.resolve(of(1))],
  ])('and returns %s is done, once', async (_what, result) => {
    let runs = 0;
    const one = await start({
      work: () => {
        runs++;
        return result;
      },
    });

    await one.service.schedule('work', null, { delay: 0 });
    await clock.advance(60_000);

    expect(runs).toBe(1);
    expect(one.of('completed')).toHaveLength(1);
    expect(await one.service.stats('work')).toMatchObject({ pending: 0, inFlight: 0, dead: 0 });
  });

  it('is waited for: the job is in flight until its promise or Observable ends', async () => {
    const one = await start({
      promise: taking(100),
      observable: (job) => from(Promise.resolve(taking(100)(job))),
    });

    for (const topic of ['promise', 'observable']) {
      await one.service.schedule(topic, null, { delay: 0, id: 'a' });
      await clock.advance(99);
      expect(await one.service.get(topic, 'a')).toMatchObject({ state: 'in-flight', attempt: 1 });
      await clock.advance(1);
      expect(await one.service.get(topic, 'a')).toBeUndefined();
    }
  });
});

/** Everything a handler can throw. */
const throws: readonly (readonly [string, () => unknown])[] = [
  ['undefined', () => undefined],
  ['null', () => null],
  ['zero', () => 0],
  ['an empty text', () => ''],
  ['a text', () => 'out of stock'],
  ['a symbol', () => Symbol('s')],
  ['an object without a prototype', () => Object.create(null)],
  ['a frozen error', () => Object.freeze(new Error('frozen'))],
  ['an error', () => new Error('no more')],
];

describe('a handler that fails', () => {
  const sync =
    (thrown: () => unknown): Handle =>
    () => {
      throw thrown();
    };
  const async =
    (thrown: () => unknown): Handle =>
    () =>
      Promise.reject(thrown());
  const later = (thrown: () => unknown): Handle => taking(0, sync(thrown));
  const observable =
    (thrown: () => unknown): Handle =>
    () =>
      throwError(thrown);

  it.each(throws)(
    'with %s, in any way, leaves its slot to the next job at once, and is retried (B195, B197)',
    async (_what, thrown) => {
      for (const way of [sync, async, later, observable]) {
        const ran: [unknown, number][] = [];
        const fail = way(thrown);
        const one = await start({
          work: {
            handle: (job) => {
              ran.push([job.payload, clock.now()]);
              return job.payload === 'bad' ? fail(job) : undefined;
            },
            options: { concurrency: 1, maxAttempts: 2, backoff: 1_000 },
          },
        });
        const begin = clock.now();
        await one.service.schedule('work', 'bad', { delay: 0 });
        await one.service.schedule('work', 'good', { delay: 0 });

        await clock.advance(2_000);

        expect(ran).toEqual([
          ['bad', begin],
          ['good', begin],
          ['bad', begin + 1_000],
        ]);
        expect(one.of('retried')).toHaveLength(1);
        expect(one.of('dead-lettered')).toMatchObject([{ reason: 'attempts-exhausted' }]);
        const { items } = await one.service.deadLetters.list('work');
        expect(items).toMatchObject([
          { payload: 'bad', attempts: 2, lastError: { message: expect.stringMatching(/./) } },
        ]);
      }
    },
  );

  it('is tried again at the times of its backoff, with rising attempts, and then kept as a dead letter', async () => {
    const ran: [number, number, number][] = [];
    const one = await start({
      work: {
        handle: ({ attempt, dueAt, latenessMs }) => {
          ran.push([attempt, dueAt - START, latenessMs]);
          throw new RangeError(`attempt ${attempt}`);
        },
        options: { maxAttempts: 4, backoff: [10, 200, '3s'] },
      },
    });
    await one.service.schedule('work', { n: 1 }, { delay: 1_000, id: 'a', headers: { h: '1' } });

    await clock.advance(60_000);

    expect(ran).toEqual([
      [1, 1_000, 0],
      [2, 1_010, 0],
      [3, 1_210, 0],
      [4, 4_210, 0],
    ]);
    const { items } = await one.service.deadLetters.list('work');
    expect(items).toMatchObject([
      {
        id: 'a',
        topic: 'work',
        payload: { n: 1 },
        reason: 'attempts-exhausted',
        attempts: 4,
        dueAt: START + 1_000,
        scheduledAt: START,
        diedAt: START + 4_210,
        headers: { h: '1' },
        lastError: { name: 'RangeError', message: 'attempt 4' },
      },
    ]);
    expect(await one.service.stats('work')).toMatchObject({ pending: 0, inFlight: 0, dead: 1 });
  });

  it('waits exponentially by default, shortened by a fifth at most', async () => {
    const ranAt: number[] = [];
    const one = await start({
      work: () => {
        ranAt.push(clock.now());
        throw new Error('x');
      },
    });
    await one.service.schedule('work', null, { delay: 0 });

    await clock.advance(60_000);

    const waits = ranAt.slice(1).map((at, index) => at - ranAt[index]!);
    expect(waits).toHaveLength(4);
    waits.forEach((wait, index) => {
      expect(wait).toBeLessThanOrEqual(1_000 * 2 ** index);
      expect(wait).toBeGreaterThanOrEqual(800 * 2 ** index);
    });
  });

  it('follows what the job says rather than the topic', async () => {
    const ranAt: number[] = [];
    const one = await start({
      work: {
        handle: () => {
          ranAt.push(clock.now());
          throw new Error('x');
        },
        options: { maxAttempts: 9, backoff: '1h' },
      },
    });

    await one.service.schedule('work', null, { delay: 0, maxAttempts: 3, backoff: ['5ms', 7] });
    await clock.advance(DAY);

    expect(ranAt).toEqual([0, 5, 12]);
  });

  it('with RetryJobError comes back when it asks to; the attempt counts', async () => {
    const ran: [number, number][] = [];
    const one = await start({
      work: {
        handle: ({ attempt }) => {
          ran.push([attempt, clock.now()]);
          throw new RetryJobError({ delayMs: 12_345 });
        },
        options: { maxAttempts: 2, backoff: 1 },
      },
    });

    await one.service.schedule('work', null, { delay: 0 });
    await clock.advance(60_000);

    expect(ran).toEqual([
      [1, 0],
      [2, 12_345],
    ]);
    expect(await one.service.stats('work')).toMatchObject({ dead: 1 });
  });

  it('with DeadLetterJobError is given up at once', async () => {
    let runs = 0;
    const one = await start({
      work: () => {
        runs++;
        throw new DeadLetterJobError('no such customer');
      },
    });

    await one.service.schedule('work', null, { delay: 0 });
    await clock.advance(60_000);

    expect(runs).toBe(1);
    expect((await one.service.deadLetters.list('work')).items).toMatchObject([
      {
        reason: 'handler-request',
        attempts: 1,
        lastError: { name: 'DeadLetterJobError', message: 'no such customer' },
      },
    ]);
  });

  it('shows its last error while it waits for the next attempt', async () => {
    const one = await start({
      work: {
        handle: () => {
          throw new TypeError('not yet');
        },
        options: { backoff: '1h' },
      },
    });

    await one.service.schedule('work', null, { delay: 0, id: 'a' });
    await clock.advance(1);

    expect(await one.service.get('work', 'a')).toMatchObject({
      state: 'pending',
      attempt: 1,
      dueAt: START + 3_600_000,
      lastError: { name: 'TypeError', message: 'not yet' },
    });
  });
});

describe('a timeout', () => {
  it('aborts the signal, counts as a failure with an error of its own, and backs off as usual (B199, B201)', async () => {
    const ran: [number, number][] = [];
    const reasons: unknown[] = [];
    const one = await start({
      work: {
        handle: (job) => {
          ran.push([job.attempt, clock.now()]);
          job.signal.addEventListener('abort', () => reasons.push(job.signal.reason));
          return new Promise(() => undefined);
        },
        options: { timeout: '1s', maxAttempts: 2, backoff: 500 },
      },
    });

    await one.service.schedule('work', null, { delay: 0, id: 'a' });
    await clock.advance(10_000);

    expect(ran).toEqual([
      [1, 0],
      [2, 1_500],
    ]);
    expect(reasons).toHaveLength(2);
    expect(reasons[0]).toBeInstanceOf(JobTimeoutError);
    expect(reasons[0]).toMatchObject({ code: 'JOB_TIMEOUT', topic: 'work', id: 'a', timeoutMs: 1_000 });
    expect((await one.service.deadLetters.list('work')).items).toMatchObject([
      { attempts: 2, lastError: { name: 'JobTimeoutError' } },
    ]);
  });

  it('frees the slot; what the handler still returns or throws is ignored', async () => {
    const held = new HeldHandler();
    const one = await start({
      work: { handle: held.handle, options: { timeout: 100, concurrency: 1, maxAttempts: 1 } },
    });
    await one.service.scheduleMany([1, 2, 3].map((payload) => ({ topic: 'work', payload, delay: 0 })));

    await clock.advance(150);
    held.runs[0]!.end();
    await clock.advance(100);
    held.runs[1]!.fail(new Error('late'));
    held.runs[2]!.end();
    await clock.advance(10);

    expect(held.runs.map(({ job }) => job.payload)).toEqual([1, 2, 3]);
    expect(one.of('dead-lettered').map(({ error }) => error)).toEqual([
      expect.any(JobTimeoutError),
      expect.any(JobTimeoutError),
    ]);
    expect(one.of('completed')).toHaveLength(1);
  });

  it('of the job goes before that of the topic, and none is set when the handler is in time', async () => {
    const one = await start({
      work: { handle: taking(200), options: { timeout: 100, maxAttempts: 1, lease: '1h' } },
    });

    await one.service.schedule('work', null, { delay: 0, timeout: 300 });
    await clock.advance(200);

    expect(one.of('completed')).toHaveLength(1);
    expect(one.of('dead-lettered')).toEqual([]);
  });
});

describe('a rate limit', () => {
  /** Sets no more than so many timers, so that a dispatcher which sets them for ever comes to an end. */
  class BoundedClock extends CountingClock {
    override callAt(atMs: number, callback: () => void): () => void {
      return this.set < 2_000 ? super.callAt(atMs, callback) : () => undefined;
    }
  }

  it.each([3, 7, 30, 60])(
    'of %d a second starts that many, one by one, under a clock that stands still',
    async (limit) => {
      const bounded = new BoundedClock(START);
      const ranAt: number[] = [];
      const { service, runtime } = await startInstance(bounded, {
        work: {
          handle: () => ranAt.push(bounded.now()),
          options: { rateLimit: { limit, per: '1s', burst: 1 } },
        },
      });
      await service.scheduleMany(Array.from({ length: 10 * limit }, () => ({ topic: 'work', delay: 100 })));

      await bounded.advance(20_000);
      await runtime.close();

      expect(ranAt).toHaveLength(10 * limit);
      expect(bounded.set).toBeLessThan(2_000);
      expect(ranAt.at(-1)).toBeLessThan(10_200);
      for (let n = 1; n < ranAt.length; n++) {
        expect(ranAt[n]! - ranAt[n - 1]!).toBeGreaterThanOrEqual(1_000 / limit - 1e-6);
      }
    },
  );
});

describe('expiresAfter', () => {
  it('drops a job that could not start in time, and starts one that is just in time', async () => {
    const ran: unknown[] = [];
    const one = await start({
      work: { handle: ({ payload }) => ran.push(payload), options: { expiresAfter: 100 } },
    });
    await one.service.pause('work');
    await one.service.schedule('work', 'too late', { delay: 0, id: 'a' });
    await one.service.schedule('work', 'just in time', { delay: 1 });
    await one.service.schedule('work', 'has more time', { delay: 2, expiresAfter: '1s' });
    clock.jump(101);

    await one.service.resume('work');
    await clock.settle();

    expect(ran).toEqual(['just in time', 'has more time']);
    expect(one.of('expired')).toMatchObject([{ id: 'a' }]);
    expect(await one.service.stats('work')).toMatchObject({ pending: 0, dead: 0 });
  });

  it('keeps it as a dead letter where that is asked for', async () => {
    const ran: unknown[] = [];
    const one = await start({ work: ({ payload }) => ran.push(payload) });
    await one.service.pause('work');
    await one.service.schedule('work', 'p', { delay: 0, expiresAfter: 100, onExpiry: 'dead-letter' });
    clock.jump(200);

    await one.service.resume('work');
    await clock.settle();

    expect(ran).toEqual([]);
    expect((await one.service.deadLetters.list('work')).items).toMatchObject([
      { payload: 'p', reason: 'expired' },
    ]);
  });

  it('is counted from the first due time: a retry does not make the job wanted again', async () => {
    const attempts: number[] = [];
    const one = await start({
      work: {
        handle: ({ attempt }) => {
          attempts.push(attempt);
          throw new Error('x');
        },
        options: { maxAttempts: 10, backoff: 40, expiresAfter: 100 },
      },
    });

    await one.service.schedule('work', null, { delay: 500 });
    await clock.advance(5_000);

    expect(attempts).toEqual([1, 2, 3]);
    expect(one.of('expired')).toHaveLength(1);
  });
});

describe('the bound on the backlog', () => {
  const provider = { type: 'memory', maxPending: 2 } as const;

  it('refuses a job past it with an error of its own, and takes jobs again when there is room', async () => {
    const one = await start({}, { provider });
    await one.service.schedule('work', 1, { delay: '1h', id: 'a' });
    await one.service.schedule('other', 2, { delay: '1h' });

    const error: unknown = await one.service.schedule('work', 3, { delay: 0 }).catch((e: unknown) => e);
    const kept = await one.service.schedule('work', 4, { delay: 0, id: 'a' });
    const replaced = await one.service.schedule('work', 5, { delay: '2h', id: 'a', ifExists: 'replace' });
    await one.service.cancel('work', 'a');
    const again = await one.service.schedule('work', 6, { delay: '1h' });

    expect(error).toBeInstanceOf(QueueFullError);
    expect(error).toMatchObject({ code: 'QUEUE_FULL', topic: 'work', maxPending: 2 });
    expect((error as Error).message).toMatch(
      /^Cannot schedule a job on topic "work": 2 jobs are waiting.*Try again later/,
    );
    expect([kept.status, replaced.status, again.status]).toEqual(['kept', 'replaced', 'scheduled']);
    expect(await one.service.stats('work')).toMatchObject({ pending: 1 });
  });

  it('refuses only those past it of many, and says which', async () => {
    const one = await start({}, { provider });

    const error: unknown = await one.service
      .scheduleMany(['a', 'b', 'c', 'a', 'd'].map((id) => ({ topic: 'work', delay: '1h', id })))
      .catch((e: unknown) => e);

    expect(error).toBeInstanceOf(PartialScheduleError);
    const { results, message, cause, code } = error as PartialScheduleError<ScheduleResult>;
    expect(code).toBe('PARTIAL_SCHEDULE');
    expect(message).toMatch(
      /^2 of 5 jobs were not scheduled; see `results`\. The first: Cannot schedule a job/,
    );
    expect(cause).toBe(results[2]);
    expect(results).toMatchObject([
      { status: 'scheduled', id: 'a' },
      { status: 'scheduled', id: 'b' },
      { code: 'QUEUE_FULL' },
      { status: 'kept', id: 'a' },
      { code: 'QUEUE_FULL' },
    ]);
    expect(await one.service.stats('work')).toMatchObject({ pending: 2 });
  });

  it('tells jobs that were there already from those that did not fit', async () => {
    const one = await start({}, { provider });
    await one.service.schedule('work', 1, { delay: '1h', id: 'a' });

    const error: unknown = await one.service
      .scheduleMany([
        { topic: 'work', delay: '1h', id: 'a', ifExists: 'reject' },
        { topic: 'work', delay: '1h' },
        { topic: 'work', delay: '1h' },
      ])
      .catch((e: unknown) => e);

    expect((error as PartialScheduleError).results).toMatchObject([
      { code: 'JOB_EXISTS', id: 'a', dueAt: START + 3_600_000 },
      { status: 'scheduled' },
      { code: 'QUEUE_FULL' },
    ]);
  });

  it('counts those that wait: a running job may schedule the next one', async () => {
    const statuses: string[] = [];
    const one = await start(
      {
        work: async () => {
          const { pending } = await one.service.stats('work');
          const outcome = await one.service.schedule('later', null, { delay: '1h' }).catch((e: Error) => e);
          statuses.push(`${pending} waiting: ${'status' in outcome ? outcome.status : outcome.name}`);
        },
      },
      { provider: { type: 'memory', maxPending: 1 } },
    );

    await one.service.schedule('work', null, { delay: 0 });
    await clock.advance(1);

    expect(statuses).toEqual(['0 waiting: scheduled']);
  });

  it('holds for jobs that are scheduled in the same turn', async () => {
    const one = await start({}, { provider });

    const outcomes = await Promise.allSettled(
      Array.from({ length: 5 }, (_, n) => one.service.schedule(n % 2 ? 'work' : 'other', n, { delay: '1h' })),
    );

    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
  });
});

describe('sleeping', () => {
  it('takes no timer and asks nothing while there is no job', async () => {
    const provider = new CountingProvider();
    await start({ a: () => undefined, b: () => undefined, c: () => undefined }, { provider });
    await clock.settle();
    const { claims } = provider;

    await clock.advance(365 * DAY);

    expect(clock.pendingAlarms).toBe(0);
    expect(provider.claims).toBe(claims);
  });

  it('takes one timer for all topics, which a job that is not the first to come does not touch', async () => {
    const provider = new CountingProvider();
    const topics = Array.from({ length: 10 }, (_, n) => `topic ${n}`);
    const one = await start(Object.fromEntries(topics.map((topic) => [topic, () => undefined])), {
      provider,
    });
    await one.service.schedule(topics[3]!, null, { delay: '1h' });
    await clock.settle();
    const before = { set: clock.set, claims: provider.claims };

    await one.service.scheduleMany(
      Array.from({ length: 1_000 }, (_, n) => ({ topic: topics[3]!, delay: 3_600_000 + n })),
    );
    for (let n = 0; n < 20; n++) await one.service.schedule(topics[3]!, null, { delay: '2h' });
    await clock.settle();
    const same = { set: clock.set, claims: provider.claims };
    // The first of their own topics, so these are asked for; still the one timer serves all.
    await one.service.scheduleMany(topics.filter((_, n) => n !== 3).map((topic) => ({ topic, delay: '5h' })));
    await clock.settle();

    expect(same).toEqual(before);
    expect(clock.pendingAlarms).toBe(1);
    expect(clock.set).toBe(before.set);
  });

  it('is cut short by a job that is due earlier, and by one that is moved there or into the past', async () => {
    const ran: [unknown, number][] = [];
    const one = await start({ work: ({ payload }) => ran.push([payload, clock.now()]) });
    await one.service.scheduleMany([
      { topic: 'work', payload: 'far', delay: 10_000, id: 'far' },
      { topic: 'work', payload: 'moved', delay: 20_000, id: 'moved' },
      { topic: 'work', payload: 'past', delay: 30_000, id: 'past' },
    ]);
    await clock.advance(1_000);

    await one.service.schedule('work', 'earlier', { delay: 500 });
    await one.service.reschedule('work', 'moved', { delay: 700 });
    await clock.advance(1_000);
    await one.service.reschedule('work', 'past', { at: 0 });
    await clock.advance(20_000);

    expect(ran).toEqual([
      ['earlier', 1_500],
      ['moved', 1_700],
      ['past', 2_000],
      ['far', 10_000],
    ]);
  });

  it('goes on past a job that was cancelled or moved away, and runs nothing then (B017)', async () => {
    const ran: [unknown, number][] = [];
    const one = await start({ work: ({ payload }) => ran.push([payload, clock.now()]) });
    await one.service.scheduleMany([
      { topic: 'work', payload: 'cancelled', delay: 1_000, id: 'a' },
      { topic: 'work', payload: 'moved', delay: 5 * 60_000, id: 'b' },
      { topic: 'work', payload: 'last', delay: 6 * 60_000 },
    ]);

    await one.service.cancel('work', 'a');
    await clock.advance(1_000);
    await one.service.reschedule('work', 'b', { delay: '28h' });
    await clock.advance(2 * DAY);

    expect(ran).toEqual([
      ['last', 6 * 60_000],
      ['moved', 28 * 3_600_000 + 1_000],
    ]);
  });

  it('ends for good when the last job is cancelled', async () => {
    const provider = new CountingProvider();
    const one = await start({ work: () => undefined }, { provider });
    await one.service.schedule('work', null, { delay: 1_000, id: 'a' });
    await one.service.cancel('work', 'a');
    await clock.advance(2_000);
    const { claims } = provider;

    await clock.advance(365 * DAY);

    expect(clock.pendingAlarms).toBe(0);
    expect(provider.claims).toBe(claims);
  });

  it('takes one timer and one run for a job that is moved a hundred thousand times (B219)', async () => {
    const ranAt: number[] = [];
    const one = await start({ work: () => ranAt.push(clock.now()) });
    await one.service.schedule('work', null, { delay: 1_000, id: 'a' });

    for (let n = 0; n < 100_000; n++) await one.service.reschedule('work', 'a', { delay: 1_000 + (n % 7) });
    await clock.settle();
    const { pendingAlarms } = clock;
    await one.service.reschedule('work', 'a', { delay: 500 });
    await clock.advance(5_000);

    expect(pendingAlarms).toBe(1);
    expect(ranAt).toEqual([500]);
    expect(await one.service.stats('work')).toMatchObject({ pending: 0 });
  });

  it('goes quiet within a lease after the last run', async () => {
    const provider = new CountingProvider();
    const one = await start({ a: taking(5), b: taking(5) }, { provider });
    await one.service.scheduleMany(['a', 'b'].map((topic) => ({ topic, delay: 0 })));
    await clock.advance(30_000);
    const { claims } = provider;

    await clock.advance(365 * DAY);

    expect(clock.pendingAlarms).toBe(0);
    expect(provider.claims).toBe(claims);
  });
});

describe('the wall clock', () => {
  it('takes jobs given an instant along when it is stepped, forward and back, and leaves delays alone', async () => {
    const ran: [unknown, number][] = [];
    const one = await start({ work: ({ payload }) => ran.push([payload, clock.now()]) });
    await one.service.scheduleMany([
      { topic: 'work', payload: 'instant', at: START + 3_600_000 },
      { topic: 'work', payload: 'delay', delay: 3_600_000 },
      { topic: 'work', payload: 'later', at: START + 7_200_000 },
    ]);
    await clock.advance(1_000);

    clock.stepWall(3_500_000);
    await clock.advance(98_999);
    const beforeInstant = [...ran];
    await clock.advance(1);
    clock.stepWall(-3_500_000);
    await clock.advance(DAY);

    expect(beforeInstant).toEqual([]);
    expect(ran).toEqual([
      ['instant', 100_000],
      ['delay', 3_600_000],
      ['later', 7_200_000],
    ]);
  });

  it('that jumps past an instant starts the job at once, and once (B045)', async () => {
    const ran: unknown[] = [];
    const one = await start({ work: ({ payload }) => ran.push(payload) });
    await one.service.schedule('work', 'instant', { at: START + 1_800_000 });
    await clock.advance(10);

    clock.stepWall(3_600_000);
    await clock.settle();
    const atOnce = [...ran];
    clock.stepWall(-3_600_000);
    await clock.advance(DAY);

    expect(atOnce).toEqual(['instant']);
    expect(ran).toEqual(['instant']);
  });

  it('of an early sleeper that is set back lets nothing run early', async () => {
    const ranAt: number[] = [];
    const one = await start({ work: () => ranAt.push(clock.wallNow()) });
    await one.service.schedule('work', null, { at: START + 10_000 });
    await clock.advance(9_999);

    clock.stepWall(-5_000);
    await clock.advance(5_000);
    const early = ranAt.length;
    await clock.advance(1);

    expect(early).toBe(0);
    expect(ranAt).toEqual([START + 10_000]);
  });

  describe('of the machine', () => {
    beforeEach(() => {
      jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'], now: START });
    });
    afterEach(() => {
      jest.useRealTimers();
    });

    it.each(['forward', 'back'])(
      'is followed within a second when it is set %s; delays are not',
      async (direction) => {
        const hour = 3_600_000;
        const ran = new Map<unknown, number>();
        const began = performance.now();
        const one = await start(
          { work: ({ payload }) => void ran.set(payload, performance.now() - began) },
          { clock: new SystemClock() },
        );
        await one.service.schedule('work', 'instant', { at: Date.now() + 2 * hour });
        await one.service.schedule('work', 'delay', { delay: 2 * hour });
        await jest.advanceTimersByTimeAsync(1_000);

        jest.setSystemTime(Date.now() + (direction === 'forward' ? hour : -hour));
        await jest.advanceTimersByTimeAsync(4 * hour);

        const expected = direction === 'forward' ? hour : 3 * hour;
        expect(ran.get('delay')).toBeGreaterThanOrEqual(2 * hour);
        expect(ran.get('delay')).toBeLessThan(2 * hour + 50);
        expect(ran.get('instant')).toBeGreaterThanOrEqual(expected);
        expect(ran.get('instant')).toBeLessThan(expected + 1_050);
      },
    );

    it('that is set past an instant starts the job within a second', async () => {
      const ranAt: number[] = [];
      const one = await start({ work: () => ranAt.push(performance.now()) }, { clock: new SystemClock() });
      await one.service.schedule('work', null, { at: Date.now() + 30 * DAY });
      await jest.advanceTimersByTimeAsync(10_000);
      const steppedAt = performance.now();

      jest.setSystemTime(Date.now() + 31 * DAY);
      await jest.advanceTimersByTimeAsync(1_050);

      expect(ranAt).toHaveLength(1);
      expect(ranAt[0]! - steppedAt).toBeLessThanOrEqual(1_050);
    });

    it.each([2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1, 30 * DAY, 60 * DAY])(
      'and its timers run a job %d ms away once, on time (B013, B023)',
      async (delay) => {
        const ranAt: number[] = [];
        const began = performance.now();
        const one = await start(
          { work: () => ranAt.push(performance.now() - began) },
          { clock: new SystemClock() },
        );
        await one.service.schedule('work', null, { delay });

        await jest.advanceTimersByTimeAsync(delay - 1);
        const early = ranAt.length;
        await jest.advanceTimersByTimeAsync(100);

        expect(early).toBe(0);
        expect(ranAt).toHaveLength(1);
        expect(ranAt[0]).toBeGreaterThanOrEqual(delay);
      },
    );
  });
});
