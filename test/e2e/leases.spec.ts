import { describe, expect, it } from '@jest/globals';
import { JobCancelledError, LeaseLostError } from '../../lib/index.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';
import { HeldHandler, LastingProvider, startInstance } from '../support/instances.js';

const LEASE = 6_000;
const options = { lease: LEASE };

describe('a lease', () => {
  it('is renewed for as long as the handler runs, so that five leases are one run (B085)', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const held = new HeldHandler();
    const one = await startInstance(clock, { work: { handle: held.handle, options } }, { provider });
    const two = await startInstance(clock, { work: { handle: held.handle, options } }, { provider });
    await one.service.schedule('work', null, { delay: 0 });

    await clock.advance(5 * LEASE);
    held.runs[0]!.end();
    await clock.advance(2 * LEASE);

    expect(held.runs).toHaveLength(1);
    expect([...one.of('completed'), ...two.of('completed')]).toHaveLength(1);
    await Promise.all([one.runtime.close(), two.runtime.close()]);
    expect(clock.pendingAlarms).toBe(0);
  });

  it('is lost to another instance when the loop was blocked for three leases; the late outcome is refused (B071)', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const blocked = new HeldHandler();
    const idle = new HeldHandler();
    const one = await startInstance(clock, { work: { handle: blocked.handle, options } }, { provider });
    await one.service.schedule('work', null, { delay: 0, id: 'a' });
    await clock.advance(1);
    const signal = blocked.runs[0]!.job.signal;
    clock.jump(3 * LEASE);
    const two = await startInstance(clock, { work: { handle: idle.handle, options } }, { provider });
    await clock.settle();

    blocked.runs[0]!.end();
    await clock.advance(1);
    const completedEarly = [...one.of('completed'), ...two.of('completed')];
    idle.runs[0]!.end();
    await clock.advance(LEASE);

    expect(completedEarly).toEqual([]);
    expect(one.of('lease-lost')).toMatchObject([{ id: 'a', attempt: 1 }]);
    expect(two.of('completed')).toMatchObject([{ id: 'a', attempt: 2 }]);
    expect(idle.runs[0]!.job.token).toBeGreaterThan(blocked.runs[0]!.job.token);
    expect(signal).toBeInstanceOf(AbortSignal);
    await Promise.all([one.runtime.close(), two.runtime.close()]);
  });

  it('aborts the signal of the handler that lost it', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const blocked = new HeldHandler();
    const one = await startInstance(clock, { work: { handle: blocked.handle, options } }, { provider });
    await one.service.schedule('work', null, { delay: 0 });
    await clock.advance(1);
    clock.jump(3 * LEASE);
    const two = await startInstance(clock, { work: { handle: () => undefined, options } }, { provider });
    await clock.settle();

    await clock.advance(LEASE);

    expect(blocked.runs[0]!.job.signal.reason).toBeInstanceOf(LeaseLostError);
    blocked.runs[0]!.end();
    await Promise.all([one.runtime.close(), two.runtime.close()]);
  });

  it('is not taken over by the very instance whose loop was blocked', async () => {
    const clock = new VirtualClock();
    const held = new HeldHandler();
    const one = await startInstance(clock, { work: { handle: held.handle, options } });
    await one.service.schedule('work', null, { delay: 0 });
    await clock.advance(1);

    clock.jump(3 * LEASE);
    await one.service.schedule('work', null, { delay: 0 });
    await clock.advance(1);

    expect(held.runs.map(({ job }) => job.attempt)).toEqual([1, 1]);
    for (const run of held.runs) run.end();
    await clock.advance(LEASE);
    expect(one.of('completed')).toHaveLength(2);
    await one.runtime.close();
  });

  it('survives renewals that fail while there is time, and says so once (B083)', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const renew = provider.renew.bind(provider);
    let failing = true;
    provider.renew = (...args) => (failing ? Promise.reject(new Error('link cut')) : renew(...args));
    const held = new HeldHandler();
    const one = await startInstance(clock, { work: { handle: held.handle, options } }, { provider });
    await one.service.schedule('work', null, { delay: 0 });

    await clock.advance(LEASE / 2);
    failing = false;
    await clock.advance(3 * LEASE);
    held.runs[0]!.end();
    await clock.advance(1);

    expect(held.runs).toHaveLength(1);
    expect(one.of('provider-lost')).toHaveLength(1);
    expect(one.of('provider-recovered')).toHaveLength(1);
    expect(one.of('completed')).toHaveLength(1);
    await one.runtime.close();
  });

  it('that cannot be renewed is not taken over by the instance that holds it (B083)', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    provider.renew = () => Promise.reject(new Error('link cut'));
    const held = new HeldHandler();
    const one = await startInstance(clock, { work: { handle: held.handle, options } }, { provider });
    await one.service.schedule('work', null, { delay: 0 });

    await clock.advance(3 * LEASE);

    expect(held.runs).toHaveLength(1);
    expect(held.runs[0]!.job.signal.reason).toBeInstanceOf(LeaseLostError);
    held.runs[0]!.end();
    await clock.advance(1);
    expect(one.of('completed')).toHaveLength(1);
    await one.runtime.close();
    expect(clock.pendingAlarms).toBe(0);
  });

  it('counts crashes as attempts, so that a job which kills its process ends as a dead letter', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const producer = await startInstance(clock, {}, { provider });
    await producer.service.schedule('work', { deadly: true }, { delay: 0, id: 'killer', maxAttempts: 3 });
    for (let crash = 0; crash < 3; crash++) {
      await provider.claim('work', { limit: 1, leaseMs: LEASE });
      clock.jump(LEASE);
    }

    const ran: string[] = [];
    const one = await startInstance(clock, { work: ({ id }) => ran.push(id) }, { provider });
    await clock.advance(1);

    expect(ran).toEqual([]);
    const { items } = await one.service.deadLetters.list('work');
    expect(items).toMatchObject([{ id: 'killer', reason: 'crashed', payload: { deadly: true } }]);
    await Promise.all([one.runtime.close(), producer.runtime.close()]);
  });
});

describe('cancelling a running job', () => {
  it('aborts its signal on whatever instance it runs, and no retry follows (B171)', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const held = new HeldHandler();
    const one = await startInstance(clock, { work: { handle: held.handle, options } }, { provider });
    const producer = await startInstance(clock, {}, { provider });
    await producer.service.schedule('work', null, { delay: 0, id: 'a' });
    await clock.advance(1);

    const status = await producer.service.cancel('work', 'a', { abort: true });
    await clock.settle();
    const { reason } = held.runs[0]!.job.signal;
    held.runs[0]!.fail(reason);
    await clock.advance(100 * LEASE);

    expect(status).toBe('in-flight');
    expect(reason).toBeInstanceOf(JobCancelledError);
    expect(held.runs).toHaveLength(1);
    expect(await producer.service.stats('work')).toMatchObject({ pending: 0, inFlight: 0, dead: 0 });
    await Promise.all([one.runtime.close(), producer.runtime.close()]);
  });

  it('tells the handler with the next renewal when the hint was lost', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    provider.onAbort = () => () => undefined;
    const held = new HeldHandler();
    const one = await startInstance(clock, { work: { handle: held.handle, options } }, { provider });
    await one.service.schedule('work', null, { delay: 0, id: 'a' });
    await clock.advance(1);

    await one.service.cancel('work', 'a', { abort: true });
    await clock.advance(LEASE / 3);

    expect(held.runs[0]!.job.signal.reason).toBeInstanceOf(JobCancelledError);
    held.runs[0]!.end();
    await one.runtime.close();
  });

  it('lets it end without abort, and still no retry follows', async () => {
    const clock = new VirtualClock();
    const held = new HeldHandler();
    const one = await startInstance(clock, { work: { handle: held.handle, options } });
    await one.service.schedule('work', null, { delay: 0, id: 'a' });
    await clock.advance(1);

    await one.service.cancel('work', 'a');
    const { aborted } = held.runs[0]!.job.signal;
    held.runs[0]!.fail(new Error('too late'));
    await clock.advance(100 * LEASE);

    expect(aborted).toBe(false);
    expect(held.runs).toHaveLength(1);
    await one.runtime.close();
  });
});
