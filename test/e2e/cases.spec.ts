import { describe, expect, it } from '@jest/globals';
import { DelayQueueRuntime } from '../../lib/delay-queue.runtime.js';
import { LeaseLostError, MemoryProvider } from '../../lib/index.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';
import { HeldHandler, LastingProvider, startInstance } from '../support/instances.js';

const LEASE = 6_000;
const MINUTE = 60_000;
const YEAR = 365 * 86_400_000;

/** What one instance sees of a store it shares; its own link can be cut. */
function linkTo(store: LastingProvider): LastingProvider {
  return Object.create(store) as LastingProvider;
}

describe('lateness', () => {
  it.each([1, 10, 30])(
    'is none with %d instances on one topic, and each job runs once (B005)',
    async (count) => {
      const clock = new VirtualClock();
      const provider = new LastingProvider();
      const late: number[] = [];
      const handle = ({ dueAt }: { dueAt: Date | number }): void =>
        void late.push(clock.wallNow() - Number(dueAt));
      const all = [];
      for (let i = 0; i < count; i++) all.push(await startInstance(clock, { work: handle }, { provider }));
      for (let s = 1; s <= 20; s++) await all[0]!.service.schedule('work', s, { delay: s * 1_000 });

      await clock.advance(21_000);

      expect(late).toEqual(Array(20).fill(0));
      await Promise.all(all.map(({ runtime }) => runtime.close()));
    },
  );

  it('does not grow with a hundred thousand jobs that are due in a year (B003, B007)', async () => {
    const clock = new VirtualClock();
    const ranAt: number[] = [];
    const one = await startInstance(clock, { work: () => ranAt.push(clock.now()) });
    await one.service.scheduleMany(
      Array.from({ length: 100_000 }, () => ({ topic: 'work', payload: null, delay: YEAR })),
    );
    for (let s = 1; s <= 60; s++) await one.service.schedule('work', s, { delay: s * 1_000 });

    await clock.advance(MINUTE);

    expect(ranAt).toEqual(Array.from({ length: 60 }, (_, s) => (s + 1) * 1_000));
    await one.runtime.close();
  });

  it('is below 20 ms for nearly all jobs of an idle queue, by the clocks of the machine (B011)', async () => {
    const late: number[] = [];
    const provider = new MemoryProvider();
    const runtime = await DelayQueueRuntime.open('default', { provider });
    const instance = { run: (due: number): void => void late.push(performance.now() - due) };
    const handler = { topic: 'work', queue: 'default', options: {}, recurrence: {}, key: 'run', instance };
    runtime.register([{ ...handler, name: 'Handlers.work', module: 'TestModule' }]);
    await runtime.start();
    for (let i = 0; i < 100; i++) {
      const delay = 200 + i * 10;
      void runtime.service.schedule('work', performance.now() + delay, { delay });
    }

    await new Promise((resolve) => setTimeout(resolve, 1_600));

    late.sort((a, b) => a - b);
    expect(late).toHaveLength(100);
    expect(late[0]).toBeGreaterThanOrEqual(0);
    expect(late[90]).toBeLessThan(20);
    await runtime.close();
  });
});

describe('a due time', () => {
  it('is kept by three instances that start at different moments (B019)', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const ranAt: number[] = [];
    const start = () => startInstance(clock, { work: () => ranAt.push(clock.now()) }, { provider });
    const one = await start();
    for (const s of [3, 6, 9, 12, 15]) await one.service.schedule('work', s, { delay: s * 1_000 });
    await clock.advance(2_500);
    const two = await start();
    await clock.advance(5_000);
    const three = await start();

    await clock.advance(60_000);

    expect(ranAt).toEqual([3_000, 6_000, 9_000, 12_000, 15_000]);
    await Promise.all([one, two, three].map(({ runtime }) => runtime.close()));
  });

  it('given before the dispatcher starts is kept, and the wake-up is not lost (B021, B055)', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const ranAt: number[] = [];
    const producer = await startInstance(clock, {}, { provider });
    await producer.service.schedule('work', null, { delay: 5_000 });
    const one = await startInstance(clock, { work: () => ranAt.push(clock.now()) }, { provider });

    await clock.advance(60_000);

    expect(ranAt).toEqual([5_000]);
    await Promise.all([one.runtime.close(), producer.runtime.close()]);
  });

  it.each([
    [0.4, 1],
    [1_500.7, 1_501],
    [1e-7, 1],
    [1e3 + 0.1, 1_001],
  ])('of a delay of %d ms is rounded up to %d ms (B031)', async (delay, expected) => {
    const clock = new VirtualClock();
    const ranAt: number[] = [];
    const one = await startInstance(clock, { work: () => ranAt.push(clock.now()) });
    await one.service.schedule('work', null, { delay });

    await clock.advance(10_000);

    expect(ranAt).toEqual([expected]);
    await one.runtime.close();
  });

  it('given as an instant is met although the machine sleeps for a quarter of an hour on the way (B043)', async () => {
    const clock = new VirtualClock();
    const ranAt: number[] = [];
    const one = await startInstance(clock, { work: () => ranAt.push(clock.wallNow()) });
    const at = clock.wallNow() + 60 * MINUTE;
    await one.service.schedule('work', null, { at });
    await clock.advance(20 * MINUTE);
    // Monotonic time stands still in the sleep; the wall clock does not.
    clock.stepWall(15 * MINUTE);

    await clock.advance(60 * MINUTE);

    expect(ranAt).toEqual([at]);
    await one.runtime.close();
  });
});

describe('a job runs once', () => {
  it.each([10, 1_000])('of %d that are scheduled for now in one turn (B061)', async (count) => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const ran: unknown[] = [];
    const work = { work: ({ payload }: { payload: unknown }) => ran.push(payload) };
    const one = await startInstance(clock, work, { provider });
    const two = await startInstance(clock, work, { provider });
    for (let n = 0; n < count; n++) void one.service.schedule('work', n, { delay: 0 });

    await clock.advance(1_000);

    expect(ran).toHaveLength(count);
    expect(new Set(ran).size).toBe(count);
    await Promise.all([one.runtime.close(), two.runtime.close()]);
  });

  it('when the store took it and the answer was lost; the second call reports it as kept (B063)', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const add = provider.add.bind(provider);
    let cut = true;
    provider.add = async (...args) => {
      const results = await add(...args);
      if (cut) throw new Error('link cut');
      return results;
    };
    let runs = 0;
    const one = await startInstance(clock, { work: () => runs++ }, { provider });
    const first = one.service.schedule('work', null, { delay: 1_000, id: 'a' });
    await expect(first).rejects.toThrow('link cut');
    cut = false;

    const second = await one.service.schedule('work', null, { delay: 1_000, id: 'a' });
    await clock.advance(10_000);

    expect(second.status).toBe('kept');
    expect(runs).toBe(1);
    await one.runtime.close();
  });

  it('when its time comes and a wake-up arrives with it (B067)', async () => {
    const clock = new VirtualClock();
    let runs = 0;
    const one = await startInstance(clock, { work: () => runs++ });
    await one.service.schedule('work', 'due', { delay: 1_000 });
    clock.callAt(1_000, () => void one.service.runNow('work', 'none'));
    clock.callAt(1_000, () => void one.service.schedule('other', null, { delay: 0 }));
    clock.callAt(1_000, () => void one.service.schedule('work', 'now', { delay: 0 }));

    await clock.advance(5_000);

    expect(runs).toBe(2);
    await one.runtime.close();
  });

  it('when four instances schedule its id at boot (B069)', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    let runs = 0;
    const start = () => startInstance(clock, { work: () => runs++ }, { provider });
    const all = await Promise.all([start(), start(), start(), start()]);

    const results = await Promise.all(
      all.map(({ service }) => service.schedule('work', null, { delay: 1_000, id: 'nightly' })),
    );
    await clock.advance(10_000);

    expect(results.map(({ status }) => status).toSorted()).toEqual(['kept', 'kept', 'kept', 'scheduled']);
    expect(runs).toBe(1);
    await Promise.all(all.map(({ runtime }) => runtime.close()));
  });

  it('of twenty behind one slot, although each takes half a lease (B059, B075)', async () => {
    const clock = new VirtualClock();
    const ran: unknown[] = [];
    const handle = async ({ payload }: { payload: unknown }): Promise<void> => {
      ran.push(payload);
      await new Promise<void>((resolve) => void clock.callAt(clock.now() + LEASE / 2, resolve));
    };
    const provider = new LastingProvider();
    const work = { work: { handle, options: { lease: LEASE, concurrency: 1 } } };
    const one = await startInstance(clock, work, { provider });
    const two = await startInstance(clock, work, { provider });
    for (let n = 0; n < 20; n++) await one.service.schedule('work', n, { delay: 0 });

    await clock.advance(20 * LEASE);

    expect(ran.toSorted((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: 20 }, (_, n) => n));
    expect([...one.of('lease-lost'), ...two.of('lease-lost')]).toEqual([]);
    await Promise.all([one.runtime.close(), two.runtime.close()]);
  });
});

describe('a lease', () => {
  it('that is over while its renewals fail aborts the signal of the handler (B083)', async () => {
    const clock = new VirtualClock();
    const cutOff = linkTo(new LastingProvider());
    const cut = (): Promise<never> => Promise.reject(new Error('link cut'));
    const held = new HeldHandler();
    const work = { handle: held.handle, options: { lease: LEASE } };
    const one = await startInstance(clock, { work }, { provider: cutOff });
    await one.service.schedule('work', null, { delay: 0, id: 'a' });
    await clock.advance(1);
    Object.assign(cutOff, { renew: cut, claim: cut });

    await clock.advance(3 * LEASE);
    const reason: unknown = held.runs[0]!.job.signal.reason;
    for (const run of held.runs) run.end();
    const closed = one.runtime.close();
    await clock.advance(11_000);
    await closed;

    expect(reason).toBeInstanceOf(LeaseLostError);
  });

  it('is not taken over by the very instance whose renewals fail (B083)', async () => {
    const clock = new VirtualClock();
    const cutOff = linkTo(new LastingProvider());
    cutOff.renew = () => Promise.reject(new Error('link cut'));
    const held = new HeldHandler();
    const work = { handle: held.handle, options: { lease: LEASE } };
    const one = await startInstance(clock, { work }, { provider: cutOff });
    await one.service.schedule('work', null, { delay: 0, id: 'a' });
    await clock.advance(3 * LEASE);
    const attempts = held.runs.map(({ job }) => [job.attempt, job.signal.aborted]);
    for (const run of held.runs) run.end();
    const closed = one.runtime.close();
    await clock.advance(11_000);
    await closed;

    // Either it does not run again here, or the first run was told before.
    expect(attempts.slice(0, -1).every(([, aborted]) => aborted)).toBe(true);
  });

  it('that was lost and ended twice leaves the dispatcher serving (B073)', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const held = new HeldHandler();
    const options = { lease: LEASE };
    const one = await startInstance(clock, { work: { handle: held.handle, options } }, { provider });
    await one.service.schedule('work', 'a', { delay: 0 });
    await clock.advance(1);
    clock.jump(3 * LEASE);
    const [taken] = (await provider.claim('work', { limit: 1, leaseMs: LEASE })).claims;
    await provider.settle('work', [{ id: taken!.id, token: taken!.token, outcome: 'complete' }]);

    held.runs[0]!.end();
    await clock.advance(1);
    await one.service.schedule('work', 'b', { delay: 0 });
    await clock.advance(1);
    held.runs[1]!.end();
    await clock.advance(LEASE);

    expect(one.of('lease-lost')).toHaveLength(1);
    expect(one.of('completed')).toHaveLength(1);
    await one.runtime.close();
  });

  it.each([0, 1, 1_999, 2_000, 5_999])(
    'of an instance that died %d ms into it is over at its end, and the job runs elsewhere then (B079, B087)',
    async (restMs) => {
      const clock = new VirtualClock();
      const provider = new LastingProvider();
      const ranAt: number[] = [];
      const handle = (): number => ranAt.push(clock.now());
      const producer = await startInstance(clock, {}, { provider });
      await producer.service.schedule('work', null, { delay: 0 });
      await provider.claim('work', { limit: 1, leaseMs: LEASE });
      await clock.advance(restMs);
      const two = await startInstance(clock, { work: handle }, { provider });

      await clock.advance(2 * LEASE);

      expect(ranAt).toEqual([LEASE]);
      await Promise.all([producer.runtime.close(), two.runtime.close()]);
    },
  );
});

describe('attempts', () => {
  it('are never more than stated, over a crash and failures on two instances (B183, B187)', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    let runs = 0;
    const handle = (): never => {
      runs++;
      throw new Error('no');
    };
    const producer = await startInstance(clock, {}, { provider });
    await producer.service.schedule('work', null, { delay: 0, maxAttempts: 3, backoff: 100 });
    await provider.claim('work', { limit: 1, leaseMs: LEASE });
    clock.jump(LEASE);
    const one = await startInstance(clock, { work: handle }, { provider });
    const two = await startInstance(clock, { work: handle }, { provider });

    await clock.advance(MINUTE);

    expect(runs).toBe(2);
    const { items } = await one.service.deadLetters.list('work');
    expect(items).toMatchObject([{ reason: 'attempts-exhausted' }]);
    await Promise.all([one, two, producer].map(({ runtime }) => runtime.close()));
  });
});

describe('ids that are used again and again', () => {
  it('end with a run after the last call for each (B165)', async () => {
    const clock = new VirtualClock();
    const lastRun = new Map<string, number>();
    const handle = async ({ id }: { id: string }): Promise<void> => {
      lastRun.set(id, clock.now());
      await new Promise<void>((resolve) => void clock.callAt(clock.now() + 2, resolve));
    };
    const one = await startInstance(clock, { work: handle });
    const lastCall = new Map<string, number>();
    for (let n = 0; n < 500; n++) {
      const id = `k${n % 10}`;
      lastCall.set(id, clock.now());
      await one.service.schedule('work', n, { delay: 0, id });
      if (n % 3 === 0) await clock.advance(1);
    }

    await clock.advance(1_000);

    for (const [id, at] of lastCall) expect(lastRun.get(id)).toBeGreaterThanOrEqual(at);
    expect(lastRun.size).toBe(10);
    await one.runtime.close();
  });
});

describe('a topic', () => {
  it('is claimed only by the instances that handle it (B205)', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const one = await startInstance(clock, { a: () => undefined }, { provider });
    const two = await startInstance(clock, { b: () => undefined }, { provider });
    await two.service.scheduleMany(
      Array.from({ length: 1_000 }, (_, n) => ({ topic: 'a', payload: n, delay: 0 })),
    );

    await clock.advance(1_000);

    expect(one.of('completed')).toHaveLength(1_000);
    expect(two.of('claimed')).toEqual([]);
    await Promise.all([one.runtime.close(), two.runtime.close()]);
  });

  it('without a handler keeps its jobs in sight and takes no alarm (B207)', async () => {
    const clock = new VirtualClock();
    const one = await startInstance(clock, { other: () => undefined });
    await one.service.schedule('gone', null, { delay: 0 });

    await clock.advance(MINUTE);

    expect(clock.pendingAlarms).toBe(0);
    expect(await one.service.topics()).toEqual(['gone']);
    expect(await one.service.stats('gone')).toMatchObject({ pending: 1, inFlight: 0 });
    await one.runtime.close();
  });

  it('with a large backlog has no more jobs in flight than its concurrency (B209)', async () => {
    const clock = new VirtualClock();
    const held = new HeldHandler();
    const one = await startInstance(clock, { work: { handle: held.handle, options: { concurrency: 5 } } });
    await one.service.scheduleMany(
      Array.from({ length: 100_000 }, (_, n) => ({ topic: 'work', payload: n, delay: 0 })),
    );

    await clock.advance(1_000);

    expect(held.runs).toHaveLength(5);
    expect(await one.service.stats('work')).toMatchObject({ inFlight: 5, pending: 99_995 });
    const closed = one.runtime.close();
    for (const run of held.runs) run.end();
    await clock.advance(11_000);
    await closed;
  });
});
