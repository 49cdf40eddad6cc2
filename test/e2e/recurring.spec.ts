import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Delayed, DelayQueueModule, DelayQueueService, type Job } from '../../lib/index.js';
import type { DelayedOptions, DelayQueueProvider } from '../../lib/index.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';
import { LastingProvider } from '../support/instances.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

interface Booted {
  readonly app: TestingModule;
  readonly queue: DelayQueueService;
  readonly ranAt: number[];
}

/** Boots an application whose one handler notes when it ran, as ms since the clock's start. */
async function boot(
  clock: VirtualClock,
  options: DelayedOptions,
  provider?: DelayQueueProvider,
  handle: (job: Job) => unknown = () => undefined,
): Promise<Booted> {
  const ranAt: number[] = [];
  @Injectable()
  class Handlers {
    @Delayed('tick', options)
    async tick(_payload: unknown, job: Job): Promise<void> {
      ranAt.push(clock.now());
      await handle(job);
    }
  }
  @Module({
    imports: [DelayQueueModule.forRoot({ clock, ...(provider && { provider }) })],
    providers: [Handlers],
  })
  class AppModule {}
  const app = await Test.createTestingModule({ imports: [AppModule] }).compile();
  await app.init();
  return { app, queue: app.get(DelayQueueService), ranAt };
}

function failTwice(job: Job): void {
  if (job.attempt < 3) throw new Error('not yet');
}

describe('a recurring schedule', () => {
  it('runs once for each interval, counted from occurrence to occurrence', async () => {
    const clock = new VirtualClock();
    const { app, ranAt } = await boot(clock, { every: '5m' });

    await clock.advance(16 * MINUTE);

    expect(ranAt).toEqual([5 * MINUTE, 10 * MINUTE, 15 * MINUTE]);
    await app.close();
    expect(clock.pendingAlarms).toBe(0);
  });

  it('goes on while an occurrence fails and is retried, without a second chain', async () => {
    const clock = new VirtualClock();
    const { app, queue, ranAt } = await boot(clock, { every: '10m', backoff: '1m' }, undefined, failTwice);

    await clock.advance(25 * MINUTE);

    expect(ranAt).toEqual([10, 11, 12, 20, 21, 22].map((minute) => minute * MINUTE));
    expect((await queue.stats('tick')).pending).toBe(1);
    await app.close();
  });

  it('follows a cron pattern in its time zone across both changes of the clocks', async () => {
    // 02:30 in Brussels does not exist on 31 March 2030 and comes twice on 27 October 2030.
    const start = Date.UTC(2030, 2, 30);
    const clock = new VirtualClock(start);
    const { app, ranAt } = await boot(clock, { cron: '30 2 * * *', timezone: 'Europe/Brussels' });

    await clock.advance(3 * 24 * HOUR);
    const spring = ranAt.splice(0).map((ms) => new Date(start + ms).toISOString());
    await clock.advance(Date.UTC(2030, 9, 26) - clock.wallNow());
    ranAt.splice(0);
    await clock.advance(3 * 24 * HOUR);
    const autumn = ranAt.map((ms) => new Date(start + ms).toISOString());

    expect(spring).toEqual([
      '2030-03-30T01:30:00.000Z',
      '2030-03-31T01:00:00.000Z',
      '2030-04-01T00:30:00.000Z',
    ]);
    expect(autumn).toEqual([
      '2030-10-26T00:30:00.000Z',
      '2030-10-27T00:30:00.000Z',
      '2030-10-28T01:30:00.000Z',
    ]);
    await app.close();
  });

  it.each([
    ['run-once', [60, 65]],
    ['catch-up', [60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 65]],
    ['skip', [65]],
  ] as const)('after a pause of an hour, with misfire %s', async (misfire, minutes) => {
    const clock = new VirtualClock();
    const { app, queue, ranAt } = await boot(clock, { every: '5m', misfire });
    await queue.pause('tick');
    await clock.advance(HOUR + 30);

    await queue.resume('tick');
    await clock.advance(6 * MINUTE);

    expect(ranAt.map((ms) => Math.floor(ms / MINUTE))).toEqual(minutes);
    await app.close();
  });

  it('fires once per occurrence over two instances', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const one = await boot(clock, { every: '5m' }, provider);
    const two = await boot(clock, { every: '5m' }, provider);

    await clock.advance(HOUR);

    expect(one.ranAt.length + two.ranAt.length).toBe(12);
    await one.app.close();
    await two.app.close();
  });

  it('keeps its cadence over a restart, follows a change in the code, and ends when it is taken out', async () => {
    const clock = new VirtualClock();
    const provider = new LastingProvider();
    const first = await boot(clock, { every: '10m' }, provider);
    await clock.advance(5 * MINUTE);
    await first.app.close();

    const same = await boot(clock, { every: '10m' }, provider);
    await clock.advance(6 * MINUTE);
    await same.app.close();
    const changed = await boot(clock, { every: '1m' }, provider);
    await clock.advance(3 * MINUTE);
    await changed.app.close();
    const gone = await boot(clock, {}, provider);
    await clock.advance(HOUR);

    expect(same.ranAt).toEqual([10 * MINUTE]);
    expect(changed.ranAt).toEqual([12, 13, 14].map((minute) => minute * MINUTE));
    expect(gone.ranAt).toEqual([]);
    expect((await gone.queue.stats('tick')).pending).toBe(0);
    await gone.app.close();
  });

  it('can be set, changed, listed and removed at run time, with a payload', async () => {
    const clock = new VirtualClock();
    const payloads: unknown[] = [];
    const { app, queue } = await boot(clock, {}, undefined, (job) => payloads.push(job.payload));

    await queue.recurring.set('tick', 'report', { every: '1m', payload: { to: 'ann' } });
    await queue.recurring.set('tick', 'report', { every: '2m', payload: { to: 'bob' } });
    await clock.advance(4 * MINUTE);
    const listed = await queue.recurring.list('tick');
    const removed = await queue.recurring.remove('tick', 'report');
    await clock.advance(HOUR);

    expect(payloads).toEqual([{ to: 'bob' }, { to: 'bob' }]);
    expect(listed).toMatchObject([{ name: 'report', everyMs: 2 * MINUTE, payload: { to: 'bob' } }]);
    expect(removed).toBe(true);
    expect(await queue.recurring.remove('tick', 'report')).toBe(false);
    await app.close();
  });

  it.each([
    [{ every: '5m', cron: '* * * * *' }, /every and cron exclude each other/],
    [{ cron: 'not a pattern' }, /cron "not a pattern".*is not understood.*Give five fields/],
    [{ cron: '* * * * *', timezone: 'Mars/Olympus' }, /time zone "Mars\/Olympus" is not understood/],
    [{ every: '5m', timezone: 'UTC' }, /timezone has no effect on every/],
    [{ every: 0 }, /every is 0 ms. Give 1 ms or more/],
    [{ misfire: 'skip' }, /every and cron exclude each other and one is needed/],
  ] as [DelayedOptions, RegExp][])('refuses %j at boot', async (options, message) => {
    await expect(boot(new VirtualClock(), options)).rejects.toThrow(message);
  });
});
