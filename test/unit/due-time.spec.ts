import { describe, expect, it } from '@jest/globals';
import {
  DeadLetterJobError,
  type DelayQueueOptions,
  type Job,
  type ScheduleOptions,
} from '../../lib/index.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';
import { type Instance, startInstance } from '../support/instances.js';

const DAY = 86_400_000;
const TEN_YEARS = 315_576_000_000;
const END_OF_9999 = 253_402_300_799_999;
const START = Date.UTC(2030, 0, 1);

/** More than the concurrency is due at once: gives it time to run until nothing is left that is due. */
async function drain(
  { clock, service }: Pick<Fixture, 'clock' | 'service'>,
  topics: readonly string[],
): Promise<void> {
  for (const topic of topics) {
    for (let turns = 0; turns < 1_000; turns++) {
      const { due, inFlight } = await service.stats(topic);
      if (due + inFlight === 0) break;
      await clock.settle();
    }
  }
}

interface Run {
  readonly id: string;
  readonly topic: string;
  readonly payload: unknown;
  readonly at: number;
}

interface Fixture extends Instance {
  readonly clock: VirtualClock;
  /** What ran, in order. */
  readonly runs: Run[];
}

async function start(
  topics: readonly string[] = ['work'],
  { startAt = START, ...options }: DelayQueueOptions & { startAt?: number } = {},
): Promise<Fixture> {
  const clock = new VirtualClock(startAt);
  const runs: Run[] = [];
  const record = ({ id, topic, payload }: Job): number =>
    runs.push({ id, topic, payload, at: clock.wallNow() });
  const handlers = Object.fromEntries(topics.map((topic) => [topic, record]));
  const instance = await startInstance(clock, handlers, options);
  return { ...instance, clock, runs };
}

/** Calls that do not depend on an earlier one, made over each of the ways to give a due time. */
const ways: readonly [string, (instance: Instance, due: ScheduleOptions) => Promise<number | undefined>][] = [
  ['schedule', async ({ service }, due) => (await service.schedule('work', null, { ...due, id: 'a' })).dueAt],
  [
    'scheduleMany',
    async ({ service }, due) => (await service.scheduleMany([{ topic: 'work', ...due, id: 'a' }]))[0]!.dueAt,
  ],
  [
    'reschedule',
    async ({ service }, due) => {
      await service.schedule('work', null, { delay: '1h', id: 'a' });
      await service.reschedule('work', 'a', due);
      // Gone, when the new time is past: it ran.
      return (await service.get('work', 'a'))?.dueAt;
    },
  ],
];

describe.each(ways)('%s', (_name, dueAtOf) => {
  it.each([
    [0, 0],
    [-0, 0],
    [0.4, 1],
    [1e-7, 1],
    [Number.MIN_VALUE, 1],
    [1e3 + 0.1, 1_001],
    [1_500.7, 1_501],
    [TEN_YEARS, TEN_YEARS],
    [TEN_YEARS - 0.5, TEN_YEARS],
    ['0ms', 0],
    ['500ms', 500],
    ['1.5s', 1_500],
    ['.5s', 500],
    ['30s', 30_000],
    ['  5m ', 300_000],
    ['5 Minutes', 300_000],
    ['1h', 3_600_000],
    ['1 day', DAY],
    ['2w', 14 * DAY],
    ['1y', 365.25 * DAY],
    ['3650 days', 3_650 * DAY],
    ['0.0001ms', 1],
  ])('takes the delay %j for %d ms', async (delay, expected) => {
    const fixture = await start();

    const dueAt = await dueAtOf(fixture, { delay });

    expect(dueAt).toBe(START + expected);
    await fixture.runtime.close();
  });

  it.each(['10y', '10 years'])('takes the delay %j, which is the bound in its own words', async (delay) => {
    const fixture = await start();

    const dueAt = await dueAtOf(fixture, { delay });

    expect(dueAt! - START).toBeGreaterThanOrEqual(TEN_YEARS);
    await fixture.runtime.close();
  });

  it.each<[string, Date | number, number]>([
    ['a Date', new Date(START + 5_000), START + 5_000],
    ['epoch ms', START + 5_000, START + 5_000],
    ['epoch ms with a fraction, rounded up', START + 4_999.1, START + 5_000],
    ['the last instant of the year 9999', END_OF_9999, END_OF_9999],
    ['the last instant of the year 9999 as a Date', new Date(END_OF_9999), END_OF_9999],
  ])('takes %s for that instant', async (_what, at, expected) => {
    const fixture = await start();

    const dueAt = await dueAtOf(fixture, { at });
    await fixture.clock.settle();

    expect(dueAt).toBe(expected);
    expect(fixture.runs).toEqual([]);
    await fixture.runtime.close();
  });

  it.each<[string, Date | number]>([
    ['now', START],
    ['29 days ago', START - 29 * DAY],
    ['the epoch', 0],
    ['the epoch as a Date', new Date(0)],
    ['before the epoch, as a Date', new Date(-1e12)],
    ['the first Date there is', new Date(-8.64e15)],
    ['a fraction of a millisecond ago', START - 0.5],
  ])('runs at once what is due %s (B029)', async (_when, at) => {
    const fixture = await start();

    await dueAtOf(fixture, { at });
    await fixture.clock.settle();

    expect(fixture.runs).toHaveLength(1);
    await fixture.runtime.close();
  });
});

describe('a due time', () => {
  it('given as a Date is read when it is given, not when the job is due', async () => {
    const { service, runtime } = await start();
    const at = new Date(START + 1_000);
    const scheduled = service.schedule('work', null, { at });

    at.setTime(START + 60_000);

    expect(await scheduled).toMatchObject({ dueAt: START + 1_000 });
    await runtime.close();
  });

  it('that is past does not hold up the next one (B029)', async () => {
    const { clock, service, runs, runtime } = await start();

    await service.schedule('work', 'past', { at: new Date(START - 29 * DAY) });
    await service.schedule('work', 'next', { delay: 1_000 });
    await clock.advance(2_000);

    expect(runs.map(({ payload, at }) => [payload, at - START])).toEqual([
      ['past', 0],
      ['next', 1_000],
    ]);
    await runtime.close();
  });

  it('of 0 is now: the job runs in this turn, not at the next re-check', async () => {
    const { clock, service, runs, runtime } = await start();

    await service.schedule('work', null, { delay: 0 });
    await clock.settle();

    expect(runs).toHaveLength(1);
    await runtime.close();
  });

  it.each([30 * DAY, 60 * DAY, 400 * DAY, TEN_YEARS])(
    '%d ms away runs once, then and not before (B013)',
    async (delay) => {
      const { clock, service, runs, runtime } = await start();
      await service.schedule('work', null, { delay });
      await service.schedule('work', null, { at: START + delay });

      await clock.advance(delay - 1);
      const early = runs.length;
      await clock.advance(1);
      await clock.advance(DAY);

      expect(early).toBe(0);
      expect(runs.map(({ at }) => at - START)).toEqual([delay, delay]);
      await runtime.close();
    },
  );

  it('31 days away is met by a clock that moves in steps of a day (B035)', async () => {
    const { clock, service, runs, runtime } = await start();
    await service.schedule('work', null, { delay: 31 * DAY });

    for (let day = 1; day <= 40; day++) await clock.advance(DAY);

    expect(runs.map(({ at }) => at - START)).toEqual([31 * DAY]);
    await runtime.close();
  });

  it('keeps its order and its instant at the end of the year 9999 (B033)', async () => {
    const startAt = END_OF_9999 - 60_000;
    const { clock, service, runs, runtime } = await start(['work'], { startAt });
    await service.schedule('work', 'last', { at: END_OF_9999 });
    await service.schedule('work', 'before', { at: END_OF_9999 - 1 });
    await service.schedule('work', 'last too', { at: END_OF_9999 });

    await clock.advance(60_000);

    expect(runs.map(({ payload, at }) => [payload, at])).toEqual([
      ['before', END_OF_9999 - 1],
      ['last', END_OF_9999],
      ['last too', END_OF_9999],
    ]);
    await runtime.close();
  });

  it('is an instant: an hour that the clocks repeat or leave out runs every minute once (B037)', async () => {
    // Brussels sets its clocks back at 01:00 UTC on 27 October and forward at 01:00 UTC on 31 March.
    for (const change of [Date.UTC(2030, 9, 27, 1), Date.UTC(2030, 2, 31, 1)]) {
      const first = change - 90 * 60_000;
      const { clock, service, runs, runtime } = await start(['work'], { startAt: first });
      const minutes = Array.from({ length: 180 }, (_, minute) => first + minute * 60_000);
      await service.scheduleMany(
        minutes.map((at, minute) => ({ topic: 'work', payload: at, at: minute % 2 ? new Date(at) : at })),
      );

      await clock.advance(180 * 60_000);

      expect(runs.map(({ at }) => at)).toEqual(minutes);
      expect(runs.map(({ payload }) => payload)).toEqual(minutes);
      await runtime.close();
    }
  });
});

const ODD_NAMES: readonly string[] = [
  'a:b a:b:c :a a: :: b:1 1 123 00123 1e3 -1 0 NaN null undefined true'.split(' '),
  '{x} a{b}c }{ {} { [] * ? %s $& \\ " \' ` / ../x # then'.split(' '),
  '__proto__ constructor toString hasOwnProperty prototype'.split(' '),
  [' ', ' a', '\u00a0', '\u200b', '\ufeff', '\u2028'],
  ['é', 'e\u0301', '😀', '👩‍👩‍👧', 'ß', 'İ', '漢字', 'x'.repeat(255), '😀'.repeat(127)],
].flat();

describe('ids and topics', () => {
  it('of any odd spelling are distinct through schedule, get, reschedule and run (B149, B151, B155)', async () => {
    const { clock, service, runs, runtime } = await start();
    await service.scheduleMany(
      ODD_NAMES.map((id) => ({ topic: 'work', payload: `of ${id}`, delay: 1_000, id })),
    );
    // Jobs with generated ids stand beside them.
    await service.scheduleMany(ODD_NAMES.map(() => ({ topic: 'work', payload: 'plain', delay: 2_000 })));

    const seen = await Promise.all(ODD_NAMES.map((id) => service.get('work', id)));
    const moved = await Promise.all(ODD_NAMES.map((id) => service.reschedule('work', id, { delay: 500 })));
    await clock.advance(500);
    await drain({ clock, service }, ['work']);

    expect(seen.map((job) => [job?.id, job?.payload])).toEqual(ODD_NAMES.map((id) => [id, `of ${id}`]));
    expect(new Set(moved)).toEqual(new Set(['rescheduled']));
    expect(runs.map(({ id, payload }) => [id, payload])).toEqual(ODD_NAMES.map((id) => [id, `of ${id}`]));
    expect(await service.stats('work')).toMatchObject({ pending: ODD_NAMES.length });
    await runtime.close();
  });

  it('of any odd spelling can be cancelled one by one', async () => {
    const { service, runtime } = await start([]);
    await service.scheduleMany(ODD_NAMES.map((id) => ({ topic: 'work', delay: 1_000, id })));

    for (const [index, id] of ODD_NAMES.entries()) {
      expect(await service.cancel('work', id)).toBe('cancelled');
      expect(await service.stats('work')).toMatchObject({ pending: ODD_NAMES.length - index - 1 });
      expect(await service.cancel('work', id)).toBe('unknown');
    }
    await runtime.close();
  });

  it('of any odd spelling name dead letters, and come back from them', async () => {
    const clock = new VirtualClock(START);
    const died: string[] = [];
    let isBroken = true;
    const { service, runtime } = await startInstance(clock, {
      work: ({ id }) => {
        if (isBroken) throw new DeadLetterJobError('broken');
        died.push(id);
      },
    });
    await service.scheduleMany(ODD_NAMES.map((id) => ({ topic: 'work', payload: id, delay: 0, id })));
    await clock.advance(1_000);
    await drain({ clock, service }, ['work']);
    const { items } = await service.deadLetters.list('work', { limit: 1_000 });
    isBroken = false;

    const result = await service.deadLetters.requeueAll('work');
    await drain({ clock, service }, ['work']);

    expect(items.map(({ id, payload }) => [id, payload])).toEqual(ODD_NAMES.map((id) => [id, id]));
    expect(result).toEqual({ requeued: ODD_NAMES.length, idsInUse: [] });
    expect(died).toEqual(ODD_NAMES);
    await runtime.close();
  });

  it('of topics do not meet, whatever they have in common (B153)', async () => {
    const topics = [...new Set(['a', 'a:b', 'a:b:1', ...ODD_NAMES])];
    const { clock, service, runs, runtime } = await start(topics);
    const pairs = topics.flatMap((topic) => ['b:1', '1', ':', 'a'].map((id) => ({ topic, id })));
    await service.scheduleMany(
      pairs.map(({ topic, id }) => ({ topic, id, payload: [topic, id], delay: 1_000 })),
    );

    const counts = await Promise.all(topics.map((topic) => service.stats(topic)));
    await clock.advance(1_000);
    await drain({ clock, service }, topics);

    expect(new Set(counts.map(({ pending }) => pending))).toEqual(new Set([4]));
    expect(runs).toHaveLength(pairs.length);
    for (const { topic, id, payload } of runs) expect(payload).toEqual([topic, id]);
    await runtime.close();
  });

  it('that are generated never repeat, and are short and plain', async () => {
    const { service, runtime } = await start([]);

    const results = await service.scheduleMany(
      Array.from({ length: 20_000 }, () => ({ topic: 'work', delay: 1_000 })),
    );

    const ids = results.map(({ id }) => id);
    expect(new Set(ids).size).toBe(20_000);
    expect(ids.every((id) => /^[\w-]{1,40}$/.test(id))).toBe(true);
    await runtime.close();
  });

  it('are free again once the job has run, died or was cancelled (B167, B169)', async () => {
    const clock = new VirtualClock(START);
    const ran: unknown[] = [];
    const { service, runtime } = await startInstance(clock, {
      work: ({ payload }) => {
        ran.push(payload);
        if (payload === 'dies') throw new DeadLetterJobError('as asked');
      },
    });

    expect(await service.cancel('work', 'x')).toBe('unknown');
    for (const payload of ['runs', 'dies', 'runs again']) {
      expect(await service.schedule('work', payload, { delay: 10, id: 'x' })).toMatchObject({
        status: 'scheduled',
      });
      await clock.advance(10);
    }
    await service.schedule('work', 'cancelled', { delay: 10, id: 'x' });
    expect(await service.cancel('work', 'x')).toBe('cancelled');
    expect(await service.schedule('work', 'last', { delay: 10, id: 'x' })).toMatchObject({
      status: 'scheduled',
    });
    await clock.advance(10);

    expect(ran).toEqual(['runs', 'dies', 'runs again', 'last']);
    expect(await service.cancel('work', 'x')).toBe('unknown');
    await runtime.close();
  });
});
