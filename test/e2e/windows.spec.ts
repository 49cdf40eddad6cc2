import { describe, expect, it } from '@jest/globals';
import type { Job } from '../../lib/index.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';
import { startInstance } from '../support/instances.js';

const HOUR = 3_600_000;

function hourly(count: number): { topic: string; payload: number; id: string; delay: number }[] {
  return Array.from({ length: count }, (_, index) => ({
    topic: 'work',
    payload: index,
    id: `job-${index}`,
    delay: (index + 1) * HOUR,
  }));
}

describe('find', () => {
  it('gives the jobs of a window in due order, in pages', async () => {
    const clock = new VirtualClock();
    const { service, runtime } = await startInstance(clock, {});
    await service.scheduleMany(hourly(30).toReversed());
    const start = clock.wallNow();
    const window = { dueFrom: start + 5 * HOUR, dueTo: new Date(start + 14 * HOUR) };

    const first = await service.find('work', { ...window, limit: 6 });
    const second = await service.find('work', { ...window, limit: 6, cursor: first.cursor });

    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(
      [4, 5, 6, 7, 8, 9, 10, 11, 12, 13].map((index) => `job-${index}`),
    );
    expect(first.items[0]).toMatchObject({ payload: 4, state: 'pending', attempt: 0, headers: {} });
    expect(second.cursor).toBeUndefined();
    await runtime.close();
  });

  it('tells waiting jobs from running ones', async () => {
    const clock = new VirtualClock();
    const { service, runtime } = await startInstance(
      clock,
      { work: () => new Promise<void>(() => undefined) },
      { shutdown: { grace: 0 } },
    );
    await service.schedule('work', 'runs', { delay: 0 });
    await service.schedule('work', 'waits', { delay: '1h' });
    await clock.advance(1);

    const pending = await service.find('work');
    const inFlight = await service.find('work', { state: 'in-flight' });

    expect(pending.items.map(({ payload }) => payload)).toEqual(['waits']);
    expect(inFlight.items).toMatchObject([
      { payload: 'runs', attempt: 1, leaseExpiresAt: clock.wallNow() - 1 + 30_000 },
    ]);
    const closed = runtime.close();
    await clock.advance(1_000);
    await closed;
  });
});

describe('a whole window', () => {
  it('is cancelled', async () => {
    const clock = new VirtualClock();
    const ran: Job[] = [];
    const { service, runtime } = await startInstance(clock, { work: (job) => ran.push(job) });
    await service.scheduleMany(hourly(1_500));
    const start = clock.wallNow();

    const cancelled = await service.cancelWindow('work', {
      dueFrom: start + 3 * HOUR,
      dueTo: start + 1_498 * HOUR,
    });
    await clock.advance(2_000 * HOUR);

    expect(cancelled).toBe(1_496);
    expect(ran.map(({ payload }) => payload)).toEqual([0, 1, 1_498, 1_499]);
    await runtime.close();
  });

  it.each([
    ['2h', [3, 4, 5, 5, 6]],
    ['-90m', [-0.5, 0.5, 1.5, 2.5, 5]],
  ])('is shifted by %s, each job once', async (shift, hours) => {
    const clock = new VirtualClock();
    const { service, runtime } = await startInstance(clock, {});
    await service.scheduleMany(hourly(5));
    const start = clock.wallNow();

    const moved = await service.rescheduleWindow('work', { dueTo: start + 4 * HOUR }, { shift });

    expect(moved).toBe(4);
    const { items } = await service.find('work');
    expect(items.map(({ dueAt }) => (dueAt - start) / HOUR)).toEqual(hours);
    await runtime.close();
  });

  it('is moved to one due time', async () => {
    const clock = new VirtualClock();
    const ran: Job[] = [];
    const { service, runtime } = await startInstance(clock, {
      work: { handle: (job) => ran.push(job), options: { concurrency: 1 } },
    });
    await service.scheduleMany(hourly(5));

    await service.rescheduleWindow('work', {}, { delay: '1m' });
    await clock.advance(60_000);

    expect(ran.map(({ payload }) => payload)).toEqual([0, 1, 2, 3, 4]);
    await runtime.close();
  });

  it.each([
    [{ shift: 'soon' }, /shift is "soon".*Give milliseconds/],
    [{ delay: 1, at: 2 }, /both delay \(1\) and at \(2\)/],
    [{ shift: 1, delay: 2 }, /delay is unknown/],
    [{}, /neither delay nor at/],
  ])('is not moved by %j', async (move, message) => {
    const { service, runtime } = await startInstance(new VirtualClock(), {});

    await expect(service.rescheduleWindow('work', {}, move)).rejects.toThrow(message);
    await runtime.close();
  });

  it('has ends that are times', async () => {
    const { service, runtime } = await startInstance(new VirtualClock(), {});

    await expect(service.cancelWindow('work', { dueTo: new Date(Number.NaN) })).rejects.toThrow(
      /dueTo is an invalid Date/,
    );
    await runtime.close();
  });
});

describe('runNow', () => {
  it('makes a pending job due at once, and says what it found otherwise', async () => {
    const clock = new VirtualClock();
    const ran: Job[] = [];
    const { service, runtime } = await startInstance(clock, { work: (job) => ran.push(job) });
    await service.schedule('work', 'x', { delay: '10d', id: 'a' });

    const answers = [await service.runNow('work', 'a'), await service.runNow('work', 'b')];
    await clock.advance(1);

    expect(answers).toEqual(['rescheduled', 'unknown']);
    expect(ran).toHaveLength(1);
    await runtime.close();
  });
});
