import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';
import { HeldHandler, LastingProvider, startInstance } from '../support/instances.js';

function jobs(topic: string, count: number, delay = 0): { topic: string; payload: number; delay: number }[] {
  return Array.from({ length: count }, (_, payload) => ({ topic, payload, delay }));
}

describe('concurrency', () => {
  it('is bounded in each instance and over all of them', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const held = new HeldHandler();
    const work = { handle: held.handle, options: { concurrency: 3, globalConcurrency: 4 } };
    const one = await startInstance(clock, { work }, { provider });
    const two = await startInstance(clock, { work }, { provider });
    await one.service.scheduleMany(jobs('work', 20));
    await clock.advance(1);

    const atOnce: number[] = [];
    for (let ended = 0; ended < 20; ended++) {
      atOnce.push(held.runs.length - ended);
      held.runs[ended]!.end();
      await clock.settle();
    }

    expect(Math.max(...atOnce)).toBe(4);
    expect(atOnce.slice(0, 17).every((count) => count === 4)).toBe(true);
    expect(new Set(held.runs.map(({ job }) => job.payload)).size).toBe(20);
    await Promise.all([one.runtime.close(), two.runtime.close()]);
    expect(clock.pendingAlarms).toBe(0);
  });

  it('of a crashed instance comes back when its leases expire', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const ran: string[] = [];
    const producer = await startInstance(clock, {}, { provider });
    await producer.service.scheduleMany(jobs('work', 4));
    await provider.claim('work', { limit: 2, leaseMs: 5_000, maxInFlight: 2 });

    const options = { globalConcurrency: 2, lease: 5_000 };
    const one = await startInstance(
      clock,
      { work: { handle: ({ id }) => ran.push(id), options } },
      { provider },
    );
    await clock.advance(4_999);
    const before = ran.length;
    await clock.advance(2);

    expect(before).toBe(0);
    expect(ran).toHaveLength(4);
    await Promise.all([one.runtime.close(), producer.runtime.close()]);
  });

  it('is shared evenly by two instances with one slot each (B211)', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const counts = [0, 0];
    const start = (index: number): ReturnType<typeof startInstance> => {
      const handle = (): Promise<void> =>
        new Promise((resolve) => {
          counts[index]!++;
          clock.callAt(clock.now() + 1_000, resolve);
        });
      return startInstance(clock, { work: { handle, options: { concurrency: 1 } } }, { provider });
    };
    const [one, two] = [await start(0), await start(1)];
    await one.service.scheduleMany(jobs('work', 100));

    await clock.advance(60_000);

    expect(counts).toEqual([50, 50]);
    await Promise.all([one.runtime.close(), two.runtime.close()]);
  });
});

describe('a rate limit', () => {
  it('holds over all instances and releases a backlog smoothly', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const ranAt: number[] = [];
    const work = {
      handle: () => ranAt.push(clock.now()),
      options: { rateLimit: { limit: 10, per: '1s' }, concurrency: 50 },
    };
    const one = await startInstance(clock, { work }, { provider });
    const two = await startInstance(clock, { work }, { provider });
    await one.service.pause('work');
    await one.service.scheduleMany(jobs('work', 100));
    await clock.advance(60_000);
    const resumedAt = clock.now();

    await one.service.resume('work');
    await clock.advance(20_000);

    const gaps = ranAt.slice(1).map((at, index) => at - ranAt[index]!);
    expect(ranAt).toHaveLength(100);
    expect(ranAt[0]).toBe(resumedAt);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(99);
    expect(ranAt.at(-1)! - resumedAt).toBeLessThan(10_100);
    await Promise.all([one.runtime.close(), two.runtime.close()]);
    expect(clock.pendingAlarms).toBe(0);
  });
});

describe('pause', () => {
  it('stops every instance; jobs keep their due times and run late by what the pause took', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const lateness: number[] = [];
    const work = (job: { latenessMs: number }): number => lateness.push(job.latenessMs);
    const one = await startInstance(clock, { work }, { provider });
    const two = await startInstance(clock, { work }, { provider });
    await one.service.schedule('work', null, { delay: 1_000 });
    await two.service.schedule('work', null, { delay: 9_000 });

    await two.service.pause('work');
    await clock.advance(5_000);
    const during = { ran: lateness.length, stats: await one.service.stats('work') };
    await two.service.resume('work');
    await clock.advance(10_000);

    expect(during).toEqual({
      ran: 0,
      stats: expect.objectContaining({ paused: true, due: 1, headAgeMs: 4_000 }),
    });
    expect(lateness).toEqual([4_000, 0]);
    await Promise.all([one.runtime.close(), two.runtime.close()]);
  });
});

describe('topics', () => {
  it('do not wait for each other: a flood on one and a hang on another leave the third on time (B203)', async () => {
    const clock = new VirtualClock();
    const held = new HeldHandler();
    const ranAt: number[] = [];
    const slow = (): Promise<void> =>
      new Promise((resolve) => void clock.callAt(clock.now() + 1_000, resolve));
    const one = await startInstance(clock, {
      flood: slow,
      hang: held.handle,
      calm: () => ranAt.push(clock.now()),
    });
    await one.service.scheduleMany([...jobs('flood', 2_000), ...jobs('hang', 50), ...jobs('calm', 1, 5_000)]);

    await clock.advance(10_000);

    expect(ranAt).toEqual([5_000]);
    for (let ended = 0; ended < 50; ended++) {
      held.runs[ended]!.end();
      await clock.settle();
    }
    await clock.advance(300_000);
    await one.runtime.close();
  });
});
