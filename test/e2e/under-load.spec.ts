import { describe, expect, it } from '@jest/globals';
import { type Job, SystemClock } from '../../lib/index.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';
import { HeldHandler, LastingProvider, startInstance } from '../support/instances.js';

/** Resolves once `count` turns of the event loop have passed: what is starved never gets there. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe('the event loop', () => {
  it.each(['schedules itself for now', 'fails and is retried at once'])(
    'goes on beside a job that %s',
    async (how) => {
      let runs = 0;
      const handle = ({ id }: Job): void => {
        // Bounded, so that a starved loop ends in a failure and not in a hang.
        if (++runs > 50_000) return;
        if (how.startsWith('fails')) throw new Error('again');
        void one.service.schedule('loop', null, { delay: 0, id: `${id}+`.slice(-9) });
      };
      const options = { backoff: 0, maxAttempts: 60_000 };
      const one = await startInstance(
        new VirtualClock(),
        { loop: { handle, options } },
        { clock: new SystemClock() },
      );

      await one.service.schedule('loop', null, { delay: 0 });
      await turns(100);

      expect(runs).toBeGreaterThan(1);
      expect(runs).toBeLessThan(5_000);
      await one.runtime.close();
    },
  );
});

describe('a wake during a claim that takes the last slot', () => {
  it('is heeded when the slot is free again, not when the lease is over', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const claim = provider.claim.bind(provider);
    let answer: (() => void) | undefined;
    provider.claim = async (...args) => {
      const result = await claim(...args);
      await new Promise<void>((resolve) => (answer = resolve));
      return result;
    };
    const held = new HeldHandler();
    const work = { handle: held.handle, options: { concurrency: 1 } };
    const one = await startInstance(clock, { work }, { provider });
    const answered = async (): Promise<void> => {
      await clock.settle();
      answer?.();
      await clock.settle();
    };
    await answered();
    await one.service.schedule('work', 1, { delay: 0 });
    await clock.settle();
    await one.service.schedule('work', 2, { delay: 0 });
    await answered();

    held.runs[0]!.end();
    await answered();

    expect(held.runs.map(({ job }) => job.payload)).toEqual([1, 2]);
    held.runs[1]!.end();
    await clock.settle();
    answer?.();
    await one.runtime.close();
  });
});

describe('an outcome that comes after the end', () => {
  it('is not told to a closed provider again and again', async () => {
    const clock = new VirtualClock();
    const held = new HeldHandler();
    const provider = new LastingProvider();
    let settled = 0;
    const settle = provider.settle.bind(provider);
    const one = await startInstance(clock, { work: held.handle }, { provider, shutdown: { grace: 0 } });
    await one.service.schedule('work', null, { delay: 0 });
    await clock.advance(1);
    const closed = one.runtime.close();
    await clock.advance(1_000);
    await closed;
    provider.settle = (...args) => {
      settled++;
      return settle(...args);
    };

    held.runs[0]!.end();
    await clock.advance(60_000);

    expect(settled).toBe(0);
    expect(clock.pendingAlarms).toBe(0);
  });
});

describe('a recurring schedule over a store that fails', () => {
  it('goes on when the store does, without using up attempts', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const read = provider.readSettings.bind(provider);
    const ran: Job[] = [];
    const options = { maxAttempts: 1 };
    const one = await startInstance(
      clock,
      { work: { handle: (job) => ran.push(job), options } },
      { provider },
    );
    await one.service.recurring.set('work', 'tick', { every: '1m' });
    provider.readSettings = () => Promise.reject(new Error('away'));

    await clock.advance(70_000);
    provider.readSettings = read;
    await clock.advance(170_000);

    expect(ran.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1]);
    expect(one.of('dead-lettered')).toEqual([]);
    await one.runtime.close();
    expect(clock.pendingAlarms).toBe(0);
  });

  it('catches up on each missed occurrence once, although one of them is retried beside its successor', async () => {
    const clock = new VirtualClock();
    const ranAt: number[] = [];
    const start = clock.wallNow();
    const handle = (job: Job): void => {
      if (job.attempt === 1 && ranAt.length === 0) {
        ranAt.push(-1);
        throw new Error('first');
      }
      ranAt.push(job.dueAt - start);
    };
    const one = await startInstance(clock, { work: { handle, options: { backoff: 10 } } });
    await one.service.recurring.set('work', 'tick', { every: 200, misfire: 'catch-up' });
    await clock.advance(205);
    await one.service.pause('work');
    await clock.advance(300);

    await one.service.resume('work');
    await clock.advance(395);

    expect(ranAt).toEqual([-1, 210, 400, 600, 800]);
    await one.runtime.close();
  });
});

describe('reading', () => {
  it('makes no topic of a name that was only asked about', async () => {
    const { service, runtime } = await startInstance(new VirtualClock(), {});

    await service.stats('unknown');
    await service.get('unknown', 'a');
    await service.find('unknown');
    await service.deadLetters.list('unknown');

    expect(await service.topics()).toEqual([]);
    await runtime.close();
  });
});
