import { describe, expect, it } from '@jest/globals';
import { ShutdownError } from '../../lib/index.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';
import { HeldHandler, LastingProvider, startInstance } from '../support/instances.js';

const options = { lease: '30s', concurrency: 2 };
const shutdown = { grace: '10s' };

describe('shutting down', () => {
  it('starts nothing more, and lets what runs end and schedule (B225, B227)', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const held = new HeldHandler();
    const one = await startInstance(
      clock,
      { work: { handle: held.handle, options } },
      { provider, shutdown },
    );
    await one.service.scheduleMany([1, 2, 3].map((n) => ({ topic: 'work', payload: n, delay: 0 })));
    await clock.advance(1);

    const stopped = one.runtime.stop();
    await clock.advance(2_000);
    await one.service.schedule('work', 'follow-up', { delay: 0 });
    for (const run of held.runs) run.end();
    await clock.advance(1);
    await stopped;

    expect(held.runs.map(({ job }) => job.payload)).toEqual([1, 2]);
    expect(one.of('completed')).toHaveLength(2);
    expect(await one.service.stats('work')).toMatchObject({ pending: 2, inFlight: 0 });
    await one.runtime.close();
    expect(clock.pendingAlarms).toBe(0);
  });

  it('aborts what outlasts the grace and hands it back without using up an attempt', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const held = new HeldHandler();
    const one = await startInstance(
      clock,
      { work: { handle: held.handle, options } },
      { provider, shutdown },
    );
    await one.service.schedule('work', null, { delay: 0, id: 'a', maxAttempts: 1 });
    await clock.advance(1);
    const { job, fail } = held.runs[0]!;
    job.signal.addEventListener('abort', () => fail(job.signal.reason));

    const stopped = one.runtime.stop();
    await clock.advance(10_000);
    await stopped;

    expect(job.signal.reason).toBeInstanceOf(ShutdownError);
    expect(one.of('released')).toMatchObject([{ id: 'a' }]);
    expect(await one.service.get('work', 'a')).toMatchObject({ state: 'pending', attempt: 0 });
    await one.runtime.close();
    expect(clock.pendingAlarms).toBe(0);
  });

  it('ends although a handler ignores its signal; the job keeps its lease until that expires (B229)', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const stuck = new HeldHandler();
    const other = new HeldHandler();
    const one = await startInstance(
      clock,
      { work: { handle: stuck.handle, options } },
      { provider, shutdown },
    );
    await one.service.schedule('work', null, { delay: 0, id: 'a' });
    await clock.advance(1);
    const two = await startInstance(clock, { work: { handle: other.handle, options } }, { provider });

    const stopped = one.runtime.stop();
    await clock.advance(11_000);
    await stopped;
    const overlapping = other.runs.length;
    await clock.advance(30_000);

    expect(overlapping).toBe(0);
    expect(other.runs.map(({ job }) => job.attempt)).toEqual([2]);
    other.runs[0]!.end();
    stuck.runs[0]!.end();
    await clock.advance(1);
    await Promise.all([one.runtime.close(), two.runtime.close()]);
    expect(clock.pendingAlarms).toBe(0);
  });

  it('hands back what a claim brings in after the end has begun', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const claim = provider.claim.bind(provider);
    let letGo: (() => void) | undefined;
    provider.claim = async (...args) => {
      await new Promise<void>((resolve) => (letGo = resolve));
      return claim(...args);
    };
    const held = new HeldHandler();
    const one = await startInstance(
      clock,
      { work: { handle: held.handle, options } },
      { provider, shutdown },
    );
    await one.service.schedule('work', null, { delay: 0, id: 'a' });
    await clock.settle();

    const stopped = one.runtime.stop();
    letGo!();
    await clock.advance(1);
    await stopped;

    expect(held.runs).toHaveLength(0);
    expect(one.of('released')).toHaveLength(1);
    expect(await one.service.get('work', 'a')).toMatchObject({ state: 'pending', attempt: 0 });
    await one.runtime.close();
  });

  it('ends although the store takes no more outcomes; the lease brings the job back (B237)', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const settle = provider.settle.bind(provider);
    provider.settle = () => Promise.reject(new Error('store is away'));
    const ran: number[] = [];
    const handle = (): number => ran.push(1);
    const one = await startInstance(clock, { work: { handle, options } }, { provider, shutdown });
    await one.service.schedule('work', null, { delay: 0 });
    await clock.advance(1);

    const stopped = one.runtime.stop();
    await clock.advance(10_500);
    await stopped;
    await one.runtime.close();
    provider.settle = settle;
    const two = await startInstance(clock, { work: { handle, options } }, { provider });
    await clock.advance(31_000);

    expect(one.of('provider-lost').length).toBeGreaterThan(0);
    expect(ran).toHaveLength(2);
    await two.runtime.close();
    expect(clock.pendingAlarms).toBe(0);
  });

  it('is one shared end, however often it is asked for, and harmless before the start', async () => {
    const clock = new VirtualClock();
    const one = await startInstance(clock, { work: () => undefined });

    await Promise.all([one.runtime.stop(), one.runtime.stop(), one.runtime.close(), one.runtime.close()]);

    await expect(one.service.schedule('work', null, { delay: 0 })).rejects.toMatchObject({
      code: 'PROVIDER_CLOSED',
    });
  });
});
