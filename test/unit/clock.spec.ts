import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Precision, SystemClock } from '../../lib/clock.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';
import { ChildApp } from '../support/child-app.js';

const DAY = 86_400_000;
const LONGEST_TIMER = 2 ** 31 - 1;

/** Sets an alarm for each distance at once, and waits for all of them. @returns by how much each was late, ms */
function latenessOf(clock: SystemClock, distances: readonly number[]): Promise<number[]> {
  return Promise.all(
    distances.map((distance) => {
      const atMs = clock.now() + distance;
      return new Promise<number>((resolve) => clock.callAt(atMs, () => resolve(clock.now() - atMs)));
    }),
  );
}

describe('the system clock', () => {
  describe.each<Precision>(['normal', 'high'])('with %s precision', (precision) => {
    it('calls no alarm early, of thousands that are set at once', async () => {
      const clock = new SystemClock(precision);
      const distances = Array.from({ length: 4_000 }, () => Math.random() * 400);

      const lateness = await latenessOf(clock, distances);

      expect(lateness).toHaveLength(4_000);
      expect(Math.min(...lateness)).toBeGreaterThanOrEqual(0);
    });

    it('calls no alarm early, of hundreds that follow each other at odd distances', async () => {
      const clock = new SystemClock(precision);
      let least = Infinity;

      for (let n = 0; n < 300; n++) {
        // Fractions on both sides of a whole millisecond, where a truncating timer errs.
        const [late] = await latenessOf(clock, [(n % 3) + (n % 20) / 20]);
        least = Math.min(least, late!);
      }

      expect(least).toBeGreaterThanOrEqual(0);
    });

    it('calls each alarm once', async () => {
      const clock = new SystemClock(precision);
      const calls = Array.from({ length: 200 }, () => 0);

      await Promise.all(
        calls.map(
          (_, n) =>
            new Promise<void>((resolve) => {
              clock.callAt(clock.now() + (n % 20), () => {
                calls[n]!++;
                resolve();
              });
            }),
        ),
      );
      await latenessOf(clock, [30]);

      expect(calls.every((count) => count === 1)).toBe(true);
    });

    it('calls back for a time that is past, soon and not inside the call', async () => {
      const clock = new SystemClock(precision);
      for (const distance of [-1, 0, -1e12, -Infinity]) {
        let isInside = true;

        const calledInside = await new Promise<boolean>((resolve) => {
          clock.callAt(clock.now() + distance, () => resolve(isInside));
          isInside = false;
        });

        expect(calledInside).toBe(false);
      }
    });

    it('does not call what was taken back', async () => {
      const clock = new SystemClock(precision);
      let called = 0;

      for (const distance of [-1, 0, 0.2, 1.5, 3, 20]) {
        const cancel = clock.callAt(clock.now() + distance, () => called++);
        cancel();
        cancel();
      }
      await latenessOf(clock, [40]);

      expect(called).toBe(0);
    });

    it('does not mind an alarm that is taken back after it was called, or from within', async () => {
      const clock = new SystemClock(precision);

      await new Promise<void>((resolve) => {
        const cancel = clock.callAt(clock.now() + 2, () => {
          cancel();
          resolve();
        });
      });
    });
  });

  it('has times that never go back', () => {
    const clock = new SystemClock();
    let before = clock.now();

    for (let n = 0; n < 10_000; n++) {
      const now = clock.now();
      if (now < before) throw new Error(`${now} after ${before}`);
      before = now;
    }
    expect(Math.abs(clock.wallNow() - Date.now())).toBeLessThan(1_000);
  });

  it('lets I/O and other timers go on while it bridges the last stretch', async () => {
    const clock = new SystemClock('high');
    let turns = 0;
    const count = (): void => {
      turns++;
      handle = setImmediate(count);
    };
    let handle = setImmediate(count);

    await latenessOf(clock, [1.9]);

    clearImmediate(handle);
    expect(turns).toBeGreaterThan(1);
  });

  describe('over waits that a test passes through (B013, B023, B035)', () => {
    beforeEach(() => {
      jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
    });
    afterEach(() => {
      jest.restoreAllMocks();
      jest.useRealTimers();
    });

    const distances = [
      LONGEST_TIMER - 1,
      LONGEST_TIMER,
      LONGEST_TIMER + 1,
      2 * LONGEST_TIMER + 2,
      1e10,
      30 * DAY,
      400 * DAY,
      3_650 * DAY,
    ];

    it.each(distances)('never gives a timer more than it can take on the way to %d ms', async (distance) => {
      const set = jest.spyOn(globalThis, 'setTimeout');
      const clock = new SystemClock();
      let calls = 0;
      clock.callAt(clock.now() + distance, () => calls++);

      await jest.advanceTimersByTimeAsync(10_000);

      expect(calls).toBe(0);
      expect(set.mock.calls.length).toBeLessThanOrEqual(2);
      for (const [, ms] of set.mock.calls) expect(ms).toBeLessThanOrEqual(LONGEST_TIMER);
    });

    it.each([LONGEST_TIMER, LONGEST_TIMER + 1, 1e10, 400 * DAY])(
      'calls once at %d ms, not a tick earlier',
      (distance) => {
        const clock = new SystemClock();
        const startedAt = clock.now();
        const calledAt: number[] = [];
        clock.callAt(startedAt + distance, () => calledAt.push(clock.now() - startedAt));

        jest.advanceTimersByTime(distance - 1);
        const early = calledAt.length;
        jest.advanceTimersByTime(2 * DAY);

        expect(early).toBe(0);
        expect(calledAt).toHaveLength(1);
        expect(calledAt[0]).toBeGreaterThanOrEqual(distance);
        expect(calledAt[0]).toBeLessThan(distance + 5);
        expect(jest.getTimerCount()).toBe(0);
      },
    );

    it('calls once on day 31 when time moves in steps of a day', () => {
      const clock = new SystemClock();
      const days: number[] = [];
      let day = 0;
      clock.callAt(clock.now() + 31 * DAY, () => days.push(day));

      for (day = 1; day <= 40; day++) jest.advanceTimersByTime(DAY + 1);

      expect(days).toEqual([31]);
    });

    it('keeps one timer for each alarm, and none once it is taken back', () => {
      const clock = new SystemClock();

      const cancels = distances.map((distance) => clock.callAt(clock.now() + distance, () => undefined));
      jest.advanceTimersByTime(10 * 3_600_000);
      const running = jest.getTimerCount();
      for (const cancel of cancels) cancel();

      expect(running).toBe(distances.length);
      expect(jest.getTimerCount()).toBe(0);
    });

    it('waits on when a timer fires early', () => {
      const clock = new SystemClock();
      let calls = 0;
      clock.callAt(clock.now() + 50, () => calls++);
      const now = performance.now.bind(performance);
      // As far as a bare timer was measured to be ahead of the clock.
      let aheadMs = 0.95;
      jest.spyOn(performance, 'now').mockImplementation(() => now() - aheadMs);

      jest.advanceTimersByTime(50);
      const early = calls;
      aheadMs = 0;
      jest.advanceTimersByTime(2);

      expect(early).toBe(0);
      expect(calls).toBe(1);
    });

    it('does not call what is taken back on the last stretch, where no timer runs', () => {
      const clock = new SystemClock();
      let calls = 0;
      const cancel = clock.callAt(clock.now() + 50.3, () => calls++);
      const set = jest.spyOn(globalThis, 'setImmediate');

      jest.advanceTimersByTime(50);
      cancel();
      const bridged = set.mock.calls.length;
      jest.advanceTimersByTime(100);

      expect(bridged).toBeGreaterThan(0);
      expect(calls).toBe(0);
      expect(jest.getTimerCount()).toBe(0);
    });
  });

  describe('watching the wall clock', () => {
    const HINT_WITHIN = 1_000;

    beforeEach(() => {
      jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
    });
    afterEach(() => {
      jest.useRealTimers();
    });

    it.each([3_600_000, -3_600_000, 5_000, -5_000, 10, -10])(
      'tells within a second of a step by %d ms',
      (step) => {
        const clock = new SystemClock();
        let told = 0;
        clock.onWallStep(() => told++);

        jest.advanceTimersByTime(10_500);
        const before = told;
        jest.setSystemTime(Date.now() + step);
        jest.advanceTimersByTime(HINT_WITHIN);
        const after = told;
        jest.advanceTimersByTime(60_000);

        expect([before, after, told]).toEqual([0, 1, 1]);
      },
    );

    it('adds up a wall clock that runs apart a little each second', () => {
      const clock = new SystemClock();
      let told = 0;
      clock.onWallStep(() => told++);

      for (let second = 0; second < 10; second++) {
        jest.advanceTimersByTime(1_000);
        jest.setSystemTime(Date.now() + 1);
      }

      expect(told).toBeGreaterThanOrEqual(3);
    });

    it('tells all who listen, and no longer who has left; the last one to leave stops the watch', () => {
      const clock = new SystemClock();
      const told: string[] = [];
      const leaveA = clock.onWallStep(() => told.push('a'));
      const leaveB = clock.onWallStep(() => told.push('b'));
      expect(jest.getTimerCount()).toBe(1);

      jest.setSystemTime(Date.now() + DAY);
      jest.advanceTimersByTime(HINT_WITHIN);
      leaveA();
      jest.setSystemTime(Date.now() - DAY);
      jest.advanceTimersByTime(HINT_WITHIN);
      leaveB();
      leaveB();

      expect(told).toEqual(['a', 'b', 'b']);
      expect(jest.getTimerCount()).toBe(0);
    });

    it('does not report a step that happened while nobody listened', () => {
      const clock = new SystemClock();
      clock.onWallStep(() => undefined)();
      jest.setSystemTime(Date.now() + DAY);

      let told = 0;
      const leave = clock.onWallStep(() => told++);
      jest.advanceTimersByTime(5_000);

      expect(told).toBe(0);
      leave();
    });
  });

  describe('in a process of its own', () => {
    let app: ChildApp;
    beforeAll(async () => {
      app = await ChildApp.create();
    });
    afterAll(() => app.dispose());

    it('fires nothing and prints no warning for waits beyond 2^31 - 1 ms (B013, B023)', async () => {
      const { code, stdout, stderr } = await app.run(`
        import { SystemClock } from './lib/clock.js';
        const clock = new SystemClock();
        let fired = 0;
        const cancels = [2**31 - 1, 2**31, 2**31 + 1, 1e10, 30 * 864e5, 60 * 864e5, 400 * 864e5]
          .map((ms) => clock.callAt(clock.now() + ms, () => fired++));
        clock.callAt(clock.now() + 300, () => {
          for (const cancel of cancels) cancel();
          console.log(fired);
        });
      `);

      expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '0\n', stderr: '' });
    });

    it('does not keep a process alive by watching the wall clock, and does so by an alarm', async () => {
      const watch = await app.run(`
        import { SystemClock } from './lib/clock.js';
        new SystemClock().onWallStep(() => undefined);
      `);
      const alarm = await app.run(`
        import { SystemClock } from './lib/clock.js';
        const clock = new SystemClock();
        clock.callAt(clock.now() + 50, () => console.log('rang'));
      `);

      expect(watch).toMatchObject({ code: 0, stderr: '' });
      expect(alarm).toMatchObject({ code: 0, stdout: 'rang\n' });
    });
  });
});

describe('the virtual clock', () => {
  it('stands still until it is told to move', async () => {
    const clock = new VirtualClock(Date.UTC(2031, 5, 1));
    const before = [clock.now(), clock.wallNow()];

    await clock.settle();

    expect([clock.now(), clock.wallNow()]).toEqual(before);
    expect(clock.wallNow()).toBe(Date.UTC(2031, 5, 1));
    expect(new VirtualClock(new Date(5)).wallNow()).toBe(5);
  });

  it('rings alarms in due order, each at its own instant, ties in the order they were set', async () => {
    const clock = new VirtualClock(0);
    const rung: [string, number][] = [];
    for (const [name, atMs] of [
      ['c', 30],
      ['a', 10],
      ['b1', 20],
      ['b2', 20],
      ['later', 41],
    ] as const) {
      clock.callAt(atMs, () => rung.push([name, clock.now()]));
    }

    await clock.advance(40);

    expect(rung).toEqual([
      ['a', 10],
      ['b1', 20],
      ['b2', 20],
      ['c', 30],
    ]);
    expect([clock.now(), clock.wallNow(), clock.pendingAlarms]).toEqual([40, 40, 1]);
  });

  it('rings alarms that alarms set, when they fall into the time that passes', async () => {
    const clock = new VirtualClock(0);
    const rung: number[] = [];
    const again = (): void => {
      rung.push(clock.now());
      clock.callAt(clock.now() + 10, again);
    };
    clock.callAt(10, again);

    await clock.advance(35);

    expect(rung).toEqual([10, 20, 30]);
  });

  it('lets promises and timers of zero run after each alarm, before time moves on', async () => {
    const clock = new VirtualClock(0);
    const seen: number[] = [];
    clock.callAt(10, () => void Promise.resolve().then(() => seen.push(clock.now())));
    clock.callAt(20, () => void setImmediate(() => seen.push(clock.now())));

    await clock.advance(100);

    expect(seen).toEqual([10, 20]);
  });

  it('rings an alarm for a time that is past with the next move, at the present', async () => {
    const clock = new VirtualClock(0);
    await clock.advance(50);
    const rung: number[] = [];
    let isInside = true;
    clock.callAt(20, () => rung.push(isInside ? -1 : clock.now()));
    isInside = false;

    await clock.advance(0);

    expect(rung).toEqual([50]);
  });

  it('does not ring what was taken back', async () => {
    const clock = new VirtualClock();
    let rung = 0;
    const cancel = clock.callAt(clock.now() + 10, () => rung++);

    cancel();
    cancel();
    await clock.advance(100);

    expect([rung, clock.pendingAlarms]).toEqual([0, 0]);
  });

  it('jumps without ringing; the next move rings what was passed over', async () => {
    const clock = new VirtualClock(0);
    const rung: number[] = [];
    clock.callAt(10, () => rung.push(clock.now()));

    clock.jump(100);
    const before = rung.length;
    await clock.advance(0);

    expect([before, rung]).toEqual([0, [100]]);
  });

  it('never goes back, although an alarm blocks for longer than the time that was to pass', async () => {
    const clock = new VirtualClock(0);
    clock.callAt(10, () => clock.jump(1_000));

    await clock.advance(20);

    expect(clock.now()).toBeGreaterThanOrEqual(1_010);
  });

  it('moves under the fake timers of a test runner', async () => {
    const clock = new VirtualClock();
    let rang = false;
    clock.callAt(3, () => (rang = true));
    jest.useFakeTimers();

    await clock.advance(5);

    jest.useRealTimers();
    expect(rang).toBe(true);
  });

  it('never goes back when it is moved twice at once', async () => {
    const clock = new VirtualClock(0);
    const times: number[] = [];
    for (const atMs of [5, 15, 25]) clock.callAt(atMs, () => times.push(clock.now()));

    await Promise.all([clock.advance(30), clock.advance(10)]);
    times.push(clock.now());

    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(clock.now()).toBeGreaterThanOrEqual(30);
  });

  it('steps the wall clock alone, and tells those who listen', () => {
    const clock = new VirtualClock(1_000);
    let told = 0;
    const leave = clock.onWallStep(() => told++);

    clock.stepWall(500);
    leave();
    clock.stepWall(-2_000);

    expect([clock.now(), clock.wallNow(), told]).toEqual([0, -500, 1]);
  });
});
