import { describe, expect, it } from '@jest/globals';
import { DeadLetterJobError, type Job, RetryJobError } from '../../lib/index.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';
import { type Instance, startInstance } from '../support/instances.js';

const DAY = 86_400_000;

/** An instance whose handler fails for good as long as `failing.now` is set. */
async function startFailing(
  clock: VirtualClock,
  options = {},
): Promise<Instance & { failing: { now: boolean }; ran: Job[] }> {
  const failing = { now: true };
  const ran: Job[] = [];
  const instance = await startInstance(
    clock,
    {
      work: (job) => {
        ran.push(job);
        if (failing.now) throw new DeadLetterJobError(`no such customer: ${String(job.payload)}`);
      },
    },
    options,
  );
  return { ...instance, failing, ran };
}

function jobs(count: number): { topic: string; payload: number; id: string; delay: number }[] {
  return Array.from({ length: count }, (_, index) => ({
    topic: 'work',
    payload: index,
    id: `job-${index}`,
    delay: index,
  }));
}

describe('a dead letter', () => {
  it('keeps topic, payload, headers, attempts, the last error and its times', async () => {
    const clock = new VirtualClock();
    let attempt = 0;
    const one = await startInstance(clock, {
      work: () => {
        throw new RangeError(`attempt ${++attempt} failed`);
      },
    });
    const scheduledAt = clock.wallNow();
    await one.service.schedule(
      'work',
      { order: 7 },
      { delay: 1_000, id: 'a', maxAttempts: 3, backoff: '1m', headers: { trace: 'abc' } },
    );

    await clock.advance(10 * 60_000);

    const { items } = await one.service.deadLetters.list('work');
    expect(items).toEqual([
      {
        deadLetterId: expect.any(String),
        id: 'a',
        topic: 'work',
        payload: { order: 7 },
        encodedPayload: '{"order":7}',
        reason: 'attempts-exhausted',
        attempts: 3,
        dueAt: scheduledAt + 1_000,
        scheduledAt,
        diedAt: scheduledAt + 121_000,
        headers: { trace: 'abc' },
        lastError: {
          name: 'RangeError',
          message: 'attempt 3 failed',
          stack: expect.stringContaining('RangeError'),
        },
      },
    ]);
    expect(await one.service.deadLetters.get('work', items[0]!.deadLetterId)).toEqual(items[0]);
    expect(one.of('retried')).toHaveLength(2);
    expect(one.of('dead-lettered')).toMatchObject([{ id: 'a', reason: 'attempts-exhausted', attempt: 3 }]);
    await one.runtime.close();
  });

  it('comes back with all its attempts before it (B189)', async () => {
    const clock = new VirtualClock();
    const { service, runtime, failing, ran } = await startFailing(clock);
    await service.scheduleMany(jobs(1));
    await clock.advance(1);
    failing.now = false;
    const { items } = await service.deadLetters.list('work');

    const result = await service.deadLetters.requeue('work', [items[0]!.deadLetterId, 'no such']);
    await clock.advance(1);

    expect(result).toEqual({ requeued: 1, idsInUse: [] });
    expect(ran.map(({ id, payload, attempt }) => ({ id, payload, attempt }))).toEqual([
      { id: 'job-0', payload: 0, attempt: 1 },
      { id: 'job-0', payload: 0, attempt: 1 },
    ]);
    expect(await service.stats('work')).toMatchObject({ dead: 0, pending: 0 });
    await runtime.close();
  });

  it('comes back with all the others at a stated pace', async () => {
    const clock = new VirtualClock();
    const { service, runtime, failing, ran } = await startFailing(clock);
    await service.scheduleMany(jobs(1_200));
    await clock.advance(1_200);
    failing.now = false;
    ran.splice(0);
    const dead = (await service.stats('work')).dead;

    await service.deadLetters.requeueAll('work', { delay: '1s', spacing: 10 });
    await clock.advance(2_000);
    const afterTwoSeconds = ran.length;
    await clock.advance(12_000);

    expect(dead).toBe(1_200);
    expect(afterTwoSeconds).toBe(101);
    expect(ran.map(({ payload }) => payload)).toEqual(jobs(1_200).map(({ payload }) => payload));
    expect(await service.stats('work')).toMatchObject({ dead: 0, pending: 0 });
    await runtime.close();
  });

  it('stays where another job has taken its id', async () => {
    const clock = new VirtualClock();
    const { service, runtime } = await startFailing(clock);
    await service.scheduleMany(jobs(2));
    await clock.advance(2);
    await service.schedule('work', 'later', { id: 'job-1', delay: '1h' });

    const result = await service.deadLetters.requeueAll('work', { delay: '1h' });

    expect(result).toEqual({ requeued: 1, idsInUse: ['job-1'] });
    expect((await service.deadLetters.list('work')).items).toMatchObject([{ id: 'job-1', payload: 1 }]);
    expect(await service.get('work', 'job-1')).toMatchObject({ payload: 'later' });
    await runtime.close();
  });

  it('is purged by age, by count, or with all the others', async () => {
    const clock = new VirtualClock();
    const { service, runtime } = await startFailing(clock);
    await service.scheduleMany(jobs(10).map((job) => ({ ...job, delay: job.payload * DAY })));
    await clock.advance(10 * DAY);
    const left = async (): Promise<unknown[]> =>
      (await service.deadLetters.list('work')).items.map(({ payload }) => payload);

    expect(await service.deadLetters.purge('work', { olderThan: '7d' })).toBe(3);
    expect(await left()).toEqual([3, 4, 5, 6, 7, 8, 9]);
    expect(await service.deadLetters.purge('work', { keepNewest: 2 })).toBe(5);
    expect(await left()).toEqual([8, 9]);
    expect(await service.deadLetters.purge('work')).toBe(2);
    expect(await left()).toEqual([]);
    await runtime.close();
  });

  it('is dropped past the cap, which is counted and told (B191)', async () => {
    const clock = new VirtualClock();
    const { service, runtime, of } = await startFailing(clock, { deadLetters: { maxCount: 5 } });
    await service.scheduleMany(jobs(12));

    await clock.advance(20);

    expect((await service.deadLetters.list('work')).items.map(({ payload }) => payload)).toEqual([
      7, 8, 9, 10, 11,
    ]);
    expect(of('dead-letters-dropped').reduce((sum, { count }) => sum + count, 0)).toBe(7);
    await runtime.close();
  });

  it('is listed in pages', async () => {
    const clock = new VirtualClock();
    const { service, runtime } = await startFailing(clock);
    await service.scheduleMany(jobs(25));
    await clock.advance(25);

    const first = await service.deadLetters.list('work', { limit: 10 });
    const second = await service.deadLetters.list('work', { limit: 10, cursor: first.cursor });
    const third = await service.deadLetters.list('work', { limit: 10, cursor: second.cursor });

    expect([first, second, third].map(({ items }) => items.length)).toEqual([10, 10, 5]);
    expect([...first.items, ...second.items, ...third.items].map(({ payload }) => payload)).toEqual(
      jobs(25).map(({ payload }) => payload),
    );
    expect(third.cursor).toBeUndefined();
    await runtime.close();
  });

  it('is what becomes of an occurrence that fails; requeued, it leaves the schedule alone', async () => {
    const clock = new VirtualClock();
    const { service, runtime, failing, ran } = await startFailing(clock);
    await service.recurring.set('work', 'hourly', { every: '1h', payload: 'tick' });
    await clock.advance(3_600_000);
    failing.now = false;
    const { items } = await service.deadLetters.list('work');

    const result = await service.deadLetters.requeue('work', [items[0]!.deadLetterId]);
    await clock.advance(3_600_000);

    expect(result.requeued).toBe(1);
    expect(ran).toHaveLength(3);
    expect((await service.stats('work')).pending).toBe(1);
    await runtime.close();
  });
});

describe('a handler that throws', () => {
  it('RetryJobError is run again after that long, whatever the backoff', async () => {
    const clock = new VirtualClock();
    const ranAt: number[] = [];
    const one = await startInstance(clock, {
      work: () => {
        ranAt.push(clock.now());
        if (ranAt.length < 3) throw new RetryJobError({ delayMs: 12_345 });
      },
    });
    await one.service.schedule('work', null, { delay: 0, backoff: '1h' });

    await clock.advance(DAY);

    expect(ranAt).toEqual([0, 12_345, 24_690]);
    await one.runtime.close();
  });
});

describe('a job that is no longer wanted', () => {
  it.each([
    ['drop', 0, 1],
    ['dead-letter', 1, 0],
  ] as const)('does not run after its time: %s', async (onExpiry, dead, expired) => {
    const clock = new VirtualClock();
    const ran: Job[] = [];
    const one = await startInstance(clock, { work: (job) => ran.push(job) });
    await one.service.pause('work');
    await one.service.schedule('work', 'stale', { delay: 0, expiresAfter: '5m', onExpiry });
    await one.service.schedule('work', 'fresh', { delay: 0, expiresAfter: '15m', onExpiry });
    await clock.advance(10 * 60_000);

    await one.service.resume('work');
    await clock.advance(1);

    expect(ran.map(({ payload }) => payload)).toEqual(['fresh']);
    expect((await one.service.stats('work')).dead).toBe(dead);
    expect(one.of('expired')).toHaveLength(expired);
    await one.runtime.close();
  });

  it('is not retried past its time, counted from the first due time', async () => {
    const clock = new VirtualClock();
    const ranAt: number[] = [];
    const one = await startInstance(clock, {
      work: () => {
        ranAt.push(clock.now());
        throw new Error('again');
      },
    });
    await one.service.schedule('work', null, {
      delay: 0,
      expiresAfter: '2m',
      backoff: '50s',
      maxAttempts: 100,
    });

    await clock.advance(DAY);

    expect(ranAt).toEqual([0, 50_000, 100_000]);
    await one.runtime.close();
  });
});
