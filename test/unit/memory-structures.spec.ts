import { describe, expect, it } from '@jest/globals';
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import type { Claim, DeadLetterRetention, DueTime, RateLimit } from '../../lib/index.js';
import type { JobExtras } from '../../lib/job.js';
import { DeadLetterShelf } from '../../lib/providers/memory/dead-letter-shelf.js';
import { DueOrder } from '../../lib/providers/memory/due-order.js';
import { JobTable } from '../../lib/providers/memory/job-table.js';
import { Leases } from '../../lib/providers/memory/leases.js';
import { MemoryProvider } from '../../lib/providers/memory/memory.provider.js';
import { TokenBucket } from '../../lib/providers/memory/token-bucket.js';
import { WakeSignal } from '../../lib/providers/memory/wake-signal.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';

const delayOf = (delayMs: number): DueTime => ({ delayMs, at: undefined });
const instantOf = (at: number): DueTime => ({ delayMs: 0, at });

describe('the job table', () => {
  interface Row {
    readonly id: string;
    payload: string;
    dueAt: number;
    readonly scheduledAt: number;
    extras: JobExtras | undefined;
    attempt: number;
  }

  const anyExtras = fc.option(fc.record({ maxAttempts: fc.integer({ min: 1, max: 9 }) }), { nil: undefined });
  const anyStep = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('add' as const),
        text: fc.string(),
        at: fc.nat(),
        extras: anyExtras,
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), pick: fc.nat() }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('write' as const),
        pick: fc.nat(),
        text: fc.string(),
        at: fc.nat(),
        extras: anyExtras,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('move' as const),
        pick: fc.nat(),
        at: fc.nat(),
        extras: anyExtras,
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('count' as const), pick: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('uncount' as const), pick: fc.nat() }) },
  );

  function expectSameRows(table: JobTable, rows: ReadonlyMap<number, Row>): void {
    assert.equal(table.size, rows.size);
    for (const [slot, row] of rows) {
      assert.equal(table.idOf(slot), row.id);
      assert.equal(table.payloadOf(slot), row.payload);
      assert.equal(table.dueAtOf(slot), row.dueAt);
      assert.equal(table.scheduledAtOf(slot), row.scheduledAt);
      assert.equal(table.attemptOf(slot), row.attempt);
      assert.deepEqual(table.extrasOf(slot), row.extras);
    }
  }

  it('keeps every field of every job, whatever is added, written and removed', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 300, size: 'max' }), (steps) => {
        const table = new JobTable();
        const rows = new Map<number, Row>();
        const slotAt = (pick: number): number | undefined => [...rows.keys()][pick % (rows.size || 1)];

        steps.forEach((step, index) => {
          if (step.do === 'add') {
            const id = `job ${index}`;
            const slot = table.add(id, step.text, step.at, index, step.extras);
            assert.ok(!rows.has(slot), 'a slot that is in use is given out again');
            const { text: payload, at: dueAt, extras } = step;
            return rows.set(slot, { id, payload, dueAt, scheduledAt: index, extras, attempt: 0 });
          }
          const slot = slotAt(step.pick);
          const row = slot === undefined ? undefined : rows.get(slot);
          if (slot === undefined || !row) return;
          switch (step.do) {
            case 'remove':
              table.remove(slot);
              return rows.delete(slot);
            case 'write':
              table.write(slot, step.text, step.at, step.extras);
              return Object.assign(row, {
                payload: step.text,
                dueAt: step.at,
                extras: step.extras,
                attempt: 0,
              });
            case 'move':
              table.setDueAt(slot, step.at);
              table.setExtras(slot, step.extras);
              return Object.assign(row, { dueAt: step.at, extras: step.extras });
            case 'count':
              return assert.equal(table.countAttempt(slot), ++row.attempt);
            case 'uncount':
              table.uncountAttempt(slot);
              row.attempt = Math.max(0, row.attempt - 1);
              return;
            default:
              step satisfies never;
          }
        });

        expectSameRows(table, rows);
      }),
      { numRuns: 200 },
    );
  });

  it('uses the slots of removed jobs again, so that it does not grow with their number', () => {
    const table = new JobTable();

    const slots = Array.from({ length: 10_000 }, (_, index) => {
      const slot = table.add(`${index}`, '', 0, 0, undefined);
      table.remove(slot);
      return slot;
    });

    expect(Math.max(...slots)).toBe(0);
    expect(table.size).toBe(0);
  });

  it('lets go of the texts and extras of a removed job', () => {
    const table = new JobTable();
    const slot = table.add('a', 'a large payload', 1, 2, { maxAttempts: 3 });
    table.add('b', '', 0, 0, undefined);

    table.remove(slot);

    expect([table.idOf(slot), table.payloadOf(slot), table.extrasOf(slot)]).toEqual(['', '', undefined]);
  });

  it('gives a used slot no attempts and no extras of the job before', () => {
    const table = new JobTable();
    const slot = table.add('a', '', 1, 2, { maxAttempts: 3 });
    table.countAttempt(slot);
    table.remove(slot);

    const again = table.add('b', 'new', 3, 4, undefined);

    expect(again).toBe(slot);
    expect([
      table.attemptOf(slot),
      table.extrasOf(slot),
      table.dueAtOf(slot),
      table.scheduledAtOf(slot),
    ]).toEqual([0, undefined, 3, 4]);
  });

  it('works on after it has grown large and was emptied', () => {
    const table = new JobTable();
    for (let round = 0; round < 2; round++) {
      const slots = Array.from({ length: 5_000 }, (_, index) =>
        table.add(`${round}:${index}`, 'p', index, index, undefined),
      );
      expect(new Set(slots).size).toBe(5_000);
      expect([table.size, table.idOf(slots[4_999]!), table.dueAtOf(slots[4_999]!)]).toEqual([
        5_000,
        `${round}:4999`,
        4_999,
      ]);
      for (const slot of slots) table.remove(slot);
      expect(table.size).toBe(0);
    }
  });

  it('stops counting attempts at 65 535 instead of starting over, and never goes below none', () => {
    const table = new JobTable();
    const slot = table.add('a', '', 0, 0, undefined);

    table.uncountAttempt(slot);
    expect(table.attemptOf(slot)).toBe(0);

    for (let attempt = 0; attempt < 65_534; attempt++) table.countAttempt(slot);
    expect(table.countAttempt(slot)).toBe(65_535);
    expect(table.countAttempt(slot)).toBe(65_535);
  });

  it('keeps instants of the year 9999 and of before 1970 to the millisecond', () => {
    const table = new JobTable();

    const slot = table.add('a', '', 253_402_300_799_999, -8.64e15, undefined);

    expect([table.dueAtOf(slot), table.scheduledAtOf(slot)]).toEqual([253_402_300_799_999, -8.64e15]);
  });
});

describe('the due order', () => {
  const WALL = 1_000_000;

  interface Subject {
    readonly clock: VirtualClock;
    readonly order: DueOrder;
    push(slot: number, due: DueTime, sequence: number): void;
    due(): number;
  }

  function emptyOrder(): Subject {
    const clock = new VirtualClock(WALL);
    const order = new DueOrder(clock);
    return {
      clock,
      order,
      push: (slot, due, sequence) => order.push(slot, due, sequence),
      due: () => order.dueSlot(clock.now(), clock.wallNow()),
    };
  }

  it('has nothing due and sleeps for ever while it is empty', () => {
    const { order, due } = emptyOrder();

    expect([order.size, due(), order.sleepMs()]).toEqual([0, -1, Infinity]);
  });

  it('finds a delay and an instant due at their time and not a millisecond before', () => {
    const { clock, order, push, due } = emptyOrder();
    push(0, delayOf(100), 0);
    push(1, instantOf(WALL + 200), 1);

    clock.jump(99.9);
    expect(due()).toBe(-1);
    clock.jump(0.1);
    expect(due()).toBe(0);
    order.remove(0);
    clock.jump(99.9);
    expect(due()).toBe(-1);
    clock.jump(0.1);
    expect(due()).toBe(1);
  });

  it('moves an instant when the wall clock is stepped, and a delay not', () => {
    const { clock, order, push, due } = emptyOrder();
    push(0, delayOf(1_000), 0);
    push(1, instantOf(WALL + 1_000), 1);

    clock.stepWall(600);
    expect(order.monotonicDueOf(0)).toBe(1_000);
    expect(order.monotonicDueOf(1)).toBe(400);
    expect(order.sleepMs()).toBe(400);

    clock.stepWall(-5_000);
    clock.jump(1_000);
    expect(due()).toBe(0);
    expect(order.monotonicDueOf(1)).toBe(5_400);
  });

  it('takes what is latest past its due time first, by whichever clock', () => {
    const { clock, order, push, due } = emptyOrder();
    push(0, delayOf(30), 0);
    push(1, instantOf(WALL + 20), 1);
    push(2, delayOf(10), 2);

    clock.jump(100);

    const taken: number[] = [];
    for (let slot = due(); slot !== -1; slot = due()) {
      taken.push(slot);
      order.remove(slot);
    }
    expect(taken).toEqual([2, 1, 0]);
  });

  it('takes a delay and an instant that fell due together in the order of scheduling', () => {
    for (const first of ['delay', 'instant']) {
      const { clock, push, due } = emptyOrder();
      const [delay, instant] = first === 'delay' ? [0, 1] : [1, 0];
      push(delay, delayOf(50), delay);
      push(instant, instantOf(WALL + 50), instant);

      clock.jump(70);

      expect(due()).toBe(0);
    }
  });

  it('keeps what is occupied out of the way until then, whatever the wall clock does', () => {
    const { clock, order, push, due } = emptyOrder();
    push(0, instantOf(WALL), 0);
    push(1, delayOf(0), 1);
    order.occupy(0, 500, 0);
    order.occupy(1, 400, 1);

    clock.stepWall(1_000_000);
    expect(due()).toBe(-1);
    clock.jump(400);
    expect(due()).toBe(1);
    expect([order.monotonicDueOf(0), order.monotonicDueOf(1)]).toEqual([500, 400]);
    expect(order.size).toBe(2);
  });

  it('forgets what is removed, and does not mind that it was not there', () => {
    const { clock, order, push, due } = emptyOrder();
    push(0, delayOf(0), 0);
    push(1, instantOf(0), 1);

    order.remove(0);
    order.remove(1);
    order.remove(7);

    expect([order.size, due(), order.sleepMs()]).toEqual([0, -1, Infinity]);
    clock.jump(1);
    expect(due()).toBe(-1);
  });

  it('moves a slot from one clock to the other', () => {
    const { order, push } = emptyOrder();
    push(0, delayOf(100), 3);

    order.move(0, instantOf(WALL + 70), 4);
    expect([order.size, order.sleepMs(), order.sequenceOf(0)]).toEqual([1, 70, 4]);
    order.move(0, delayOf(90), 5);
    expect([order.size, order.sleepMs(), order.sequenceOf(0)]).toEqual([1, 90, 5]);
  });

  it('agrees with a list that is searched each time, over changes, time and steps of the wall clock', () => {
    interface Entry {
      readonly slot: number;
      readonly by: 'delay' | 'instant';
      readonly due: number;
      readonly sequence: number;
    }
    const anySlot = fc.nat(15);
    const anyTime = fc.integer({ min: 0, max: 40 });
    const anyStep = fc.oneof(
      fc.record({
        do: fc.constantFrom('push-delay', 'push-instant', 'occupy'),
        slot: anySlot,
        time: anyTime,
      }),
      fc.record({ do: fc.constantFrom('remove', 'pop'), slot: anySlot, time: anyTime }),
      fc.record({
        do: fc.constantFrom('jump', 'step'),
        slot: anySlot,
        time: fc.integer({ min: -30, max: 30 }),
      }),
    );

    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 150, size: 'max' }), (steps) => {
        const { clock, order, push, due } = emptyOrder();
        let entries: Entry[] = [];
        const lateOf = (entry: Entry): number =>
          entry.by === 'delay' ? clock.now() - entry.due : clock.wallNow() - entry.due;
        const without = (slot: number): Entry[] => entries.filter((entry) => entry.slot !== slot);
        const firstDue = (): number =>
          entries
            .filter((entry) => lateOf(entry) >= 0)
            .toSorted((a, b) => lateOf(b) - lateOf(a) || a.sequence - b.sequence)[0]?.slot ?? -1;

        steps.forEach(({ do: act, slot, time }, sequence) => {
          const known = entries.some((entry) => entry.slot === slot);
          if (act === 'jump') clock.jump(Math.abs(time));
          else if (act === 'step') clock.stepWall(time);
          else if (act === 'pop') {
            const head = due();
            assert.equal(head, firstDue());
            order.remove(head);
            entries = without(head);
          } else if (act === 'remove') {
            order.remove(slot);
            entries = without(slot);
          } else if (act === 'occupy') {
            if (!known) return;
            order.occupy(slot, clock.now() + time, sequence);
            entries = [...without(slot), { slot, by: 'delay', due: clock.now() + time, sequence }];
          } else {
            const isDelay = act === 'push-delay';
            const wanted = isDelay ? delayOf(time) : instantOf(clock.wallNow() + time - 20);
            if (known) order.move(slot, wanted, sequence);
            else push(slot, wanted, sequence);
            const at = wanted.at ?? clock.now() + time;
            entries = [...without(slot), { slot, by: isDelay ? 'delay' : 'instant', due: at, sequence }];
          }

          assert.equal(order.size, entries.length);
          assert.equal(due(), firstDue());
          assert.equal(order.sleepMs(), Math.min(Infinity, ...entries.map((entry) => 0 - lateOf(entry))));
          for (const entry of entries) {
            assert.equal(order.monotonicDueOf(entry.slot), clock.now() - lateOf(entry));
            assert.equal(order.sequenceOf(entry.slot), entry.sequence);
          }
        });

        const visited = new Set<number>();
        order.forEachDue((slot) => visited.add(slot));
        const expected = entries.filter((entry) => lateOf(entry) >= 0).map(({ slot }) => slot);
        assert.deepEqual(visited, new Set(expected));
        const all = new Set<number>();
        order.forEach((slot) => all.add(slot));
        assert.deepEqual(all, new Set(entries.map(({ slot }) => slot)));
      }),
      { numRuns: 300 },
    );
  });
});

describe('the token bucket', () => {
  const anyRate: fc.Arbitrary<RateLimit> = fc.record({
    limit: fc.integer({ min: 1, max: 10_000 }),
    perMs: fc.integer({ min: 1, max: 3_600_000 }),
    burst: fc.integer({ min: 1, max: 100 }),
  });

  it('starts full, whatever the time', () => {
    for (const now of [0, 1e-3, 1e12]) {
      const bucket = new TokenBucket();

      expect(bucket.available(now, { limit: 1, perMs: 1_000, burst: 7 })).toBe(7);
      expect(bucket.untilNext(now, { limit: 1, perMs: 1_000, burst: 7 })).toBe(0);
    }
  });

  it('refills with time and never past burst', () => {
    const bucket = new TokenBucket();
    const rate = { limit: 10, perMs: 1_000, burst: 3 };
    bucket.available(0, rate);

    bucket.take(3);

    expect(bucket.available(0, rate)).toBe(0);
    expect(bucket.untilNext(0, rate)).toBe(100);
    expect(bucket.available(99, rate)).toBe(0);
    expect(bucket.available(100, rate)).toBe(1);
    expect(bucket.available(1e9, rate)).toBe(3);
  });

  it('follows a limit that is changed while it runs', () => {
    const bucket = new TokenBucket();
    bucket.available(0, { limit: 10, perMs: 1_000, burst: 50 });

    expect(bucket.available(0, { limit: 10, perMs: 1_000, burst: 2 })).toBe(2);
    expect(bucket.available(10_000, { limit: 10, perMs: 1_000, burst: 50 })).toBe(50);
  });

  it('never allows more in any stretch of time than its rate and one burst', () => {
    fc.assert(
      fc.property(
        anyRate,
        fc.array(fc.record({ wait: fc.double({ min: 0, max: 5_000, noNaN: true }), want: fc.nat(30) }), {
          minLength: 1,
          maxLength: 100,
          size: 'max',
        }),
        (rate, calls) => {
          const bucket = new TokenBucket();
          const taken: { readonly at: number; readonly count: number }[] = [];
          let now = 0;
          for (const { wait, want } of calls) {
            now += wait;
            const count = Math.min(want, bucket.available(now, rate));
            assert.ok(Number.isInteger(count) && count >= 0);
            bucket.take(count);
            taken.push({ at: now, count });
          }
          for (let from = 0; from < taken.length; from++) {
            let sum = 0;
            for (let to = from; to < taken.length; to++) {
              sum += taken[to]!.count;
              const allowed = rate.burst + ((taken[to]!.at - taken[from]!.at) * rate.limit) / rate.perMs;
              assert.ok(sum <= allowed + 1e-6, `${sum} in a stretch that allows ${allowed}`);
            }
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  it('allows a claim each time the wait it named is over, at any number a second', () => {
    for (const limit of [3, 7, 30, 60, 300]) {
      const rate = { limit, perMs: 1_000, burst: 1 };
      const bucket = new TokenBucket();
      let now = 1_000;
      for (let claim = 0; claim < 1_000; claim++) {
        const looked = now;
        for (let looks = 0; looks < 3 && bucket.available(now, rate) < 1; looks++)
          now += bucket.untilNext(now, rate);

        assert.equal(bucket.available(now, rate), 1, `${limit} a second: ${now - looked} ms are not enough`);
        bucket.take(1);
      }
    }
  });

  it('allows a claim once the time it named has passed, at the latest on the second look', () => {
    fc.assert(
      fc.property(anyRate, fc.double({ min: 0, max: 1e12, noNaN: true }), (rate, start) => {
        const bucket = new TokenBucket();
        let now = start;
        bucket.take(bucket.available(now, rate));

        let looks = 0;
        for (; looks < 10 && bucket.available(now, rate) < 1; looks++) now += bucket.untilNext(now, rate);

        // A third look means that the wait was too short to move a clock on: a dispatcher would spin.
        assert.ok(looks <= 2, `still nothing after ${looks} looks`);
      }),
      { numRuns: 2_000 },
    );
  });
});

const letter = (id: string): Parameters<DeadLetterShelf['add']>[0] => ({
  id,
  topic: 't',
  payload: id,
  attempts: 1,
  dueAt: 1,
  scheduledAt: 0,
  extras: undefined,
});

const idsOf = (shelf: DeadLetterShelf): string[] => shelf.list(1_000, undefined).items.map(({ id }) => id);

function shelfOf(
  count: number,
  retention: Partial<DeadLetterRetention> = {},
): { clock: VirtualClock; shelf: DeadLetterShelf } {
  const clock = new VirtualClock(0);
  const shelf = new DeadLetterShelf(clock, { maxCount: 1_000, maxAgeMs: 1_000_000, ...retention });
  for (let n = 0; n < count; n++) {
    clock.jump(10);
    shelf.add(letter(`${n}`));
  }
  return { clock, shelf };
}

describe('the dead-letter shelf', () => {
  it('gives each letter a name of its own and the time of its death', () => {
    const { shelf } = shelfOf(3);

    const { items } = shelf.list(10, undefined);

    expect(new Set(items.map(({ deadLetterId }) => deadLetterId)).size).toBe(3);
    expect(items.map(({ diedAt }) => diedAt)).toEqual([10, 20, 30]);
    expect(shelf.get(items[1]!.deadLetterId)).toEqual(items[1]);
  });

  it('lists the oldest first, in pages that stay right when letters come and go in between', () => {
    const { shelf } = shelfOf(7);

    const first = shelf.list(3, undefined);
    shelf.remove([first.items[2]!.deadLetterId]);
    shelf.add(letter('late'));
    const second = shelf.list(3, first.cursor);
    const third = shelf.list(3, second.cursor);

    expect([first, second, third].map(({ items }) => items.map(({ id }) => id))).toEqual([
      ['0', '1', '2'],
      ['3', '4', '5'],
      ['6', 'late'],
    ]);
    expect(third.cursor).toBeUndefined();
  });

  it('has no further page when the last one is exactly full', () => {
    const { shelf } = shelfOf(3);

    expect(shelf.list(3, undefined).cursor).toBeUndefined();
    expect(shelf.list(2, undefined).cursor).toBeDefined();
  });

  it('drops the oldest past maxCount and says how many', () => {
    const { shelf } = shelfOf(3, { maxCount: 3 });

    expect(shelf.add(letter('new'))).toBe(1);
    expect(idsOf(shelf)).toEqual(['1', '2', 'new']);
  });

  it('keeps none with a maxCount of 0', () => {
    const { shelf } = shelfOf(0, { maxCount: 0 });

    expect(shelf.add(letter('a'))).toBe(1);
    expect(shelf.size).toBe(0);
  });

  it('drops those older than maxAge when another comes', () => {
    const { clock, shelf } = shelfOf(3, { maxAgeMs: 15 });

    clock.jump(6);
    const dropped = shelf.add(letter('new'));

    expect(dropped).toBe(1);
    expect(idsOf(shelf)).toEqual(['2', 'new']);
  });

  it('purges by age, by count, or by either', () => {
    const byAge = shelfOf(5);
    const byCount = shelfOf(5);
    const byEither = shelfOf(5);

    expect(byAge.shelf.purge({ olderThanMs: 20 })).toBe(2);
    expect(idsOf(byAge.shelf)).toEqual(['2', '3', '4']);
    expect(byCount.shelf.purge({ keepNewest: 1 })).toBe(4);
    expect(idsOf(byCount.shelf)).toEqual(['4']);
    expect(byEither.shelf.purge({ olderThanMs: 20, keepNewest: 2 })).toBe(3);
    expect(idsOf(byEither.shelf)).toEqual(['3', '4']);
  });

  it('purges by age all that are old enough, although the wall clock was ahead when an older one died', () => {
    const { clock, shelf } = shelfOf(0);
    clock.stepWall(1_000_000_000);
    shelf.add(letter('died in the future'));
    clock.stepWall(-1_000_000_000);
    shelf.add(letter('old'));
    clock.jump(1_000);

    shelf.purge({ olderThanMs: 500 });

    expect(idsOf(shelf)).not.toContain('old');
  });

  it('removes those that are there and counts them, once each', () => {
    const { shelf } = shelfOf(3);
    const [a, b] = shelf.list(2, undefined).items.map(({ deadLetterId }) => deadLetterId);

    expect(shelf.remove([a!, b!, a!, 'unknown', ''])).toBe(2);
    expect(shelf.get(a!)).toBeUndefined();
    expect(shelf.size).toBe(1);
  });

  it('knows a letter by its very name only', () => {
    const { shelf } = shelfOf(1);
    const { deadLetterId } = shelf.list(1, undefined).items[0]!;

    for (const alike of [` ${deadLetterId}`, `0${deadLetterId}`, `${deadLetterId}.0`, `0x${deadLetterId}`]) {
      expect(shelf.get(alike)).toBeUndefined();
    }
  });
});

describe('leases', () => {
  it('have tokens that rise, over all jobs of the topic', () => {
    const leases = new Leases();

    const tokens = [3, 1, 3, 2].map((slot) => leases.grant(slot, 0, 0).token);

    expect(tokens).toEqual(tokens.toSorted((a, b) => a - b));
    expect(new Set(tokens).size).toBe(4);
    expect(tokens[0]).toBeGreaterThanOrEqual(1);
  });

  it('of one job replace each other: the earlier token is gone', () => {
    const leases = new Leases();
    const first = leases.grant(5, 10, 1);

    const second = leases.grant(5, 20, 2);

    expect(leases.ofToken(first.token)).toBeUndefined();
    expect(leases.ofToken(second.token)).toBe(second);
    expect(leases.ofSlot(5)).toBe(second);
    expect(leases.size).toBe(1);
    expect(second).toMatchObject({ slot: 5, dueMs: 20, sequence: 2, cancelled: false, abort: false });
  });

  it('that are revoked are found by neither job nor token; revoking none is harmless', () => {
    const leases = new Leases();
    const lease = leases.grant(5, 10, 1);
    leases.grant(6, 10, 2);

    leases.revoke(5);
    leases.revoke(5);
    leases.revoke(99);

    expect([leases.ofSlot(5), leases.ofToken(lease.token)]).toEqual([undefined, undefined]);
    expect([...leases.slots()]).toEqual([6]);
    expect(leases.size).toBe(1);
  });
});

function signalWithLog(): { signal: WakeSignal; wakes: () => number } {
  const signal = new WakeSignal();
  let wakes = 0;
  signal.subscribe(() => wakes++);
  return { signal, wakes: () => wakes };
}

describe('the wake signal', () => {
  it('rings for something earlier than those who sleep were told, and only then', () => {
    const { signal, wakes } = signalWithLog();
    signal.foretell(100);

    signal.wakeFor(100);
    signal.wakeFor(101);
    signal.wakeFor(Infinity);
    expect(wakes()).toBe(0);
    signal.wakeFor(99.9);
    expect(wakes()).toBe(1);
  });

  it('rings once for one earlier time, however often it is told of it', () => {
    const { signal, wakes } = signalWithLog();
    signal.foretell(100);

    for (let n = 0; n < 10; n++) signal.wakeFor(50);
    signal.wakeFor(60);

    expect(wakes()).toBe(1);
    signal.wakeFor(49);
    expect(wakes()).toBe(2);
  });

  it('rings for anything at all before anyone has claimed', () => {
    const { signal, wakes } = signalWithLog();

    signal.wakeFor(1e15);

    expect(wakes()).toBe(1);
  });

  it('rings for everyone who listens, and no longer for who has left', () => {
    const signal = new WakeSignal();
    const rung: string[] = [];
    const leave = signal.subscribe(() => rung.push('a'));
    signal.subscribe(() => rung.push('b'));

    signal.wakeFor(10);
    leave();
    leave();
    signal.wakeFor(5);

    expect(rung).toEqual(['a', 'b', 'b']);
  });
});

/** A process that is put aside for a while before each look at a clock, as on a busy machine. */
class InterruptedClock extends VirtualClock {
  interruptionMs = 50;

  override now(): number {
    this.jump(this.interruptionMs);
    return super.now();
  }

  override wallNow(): number {
    this.jump(this.interruptionMs);
    return super.wallNow();
  }
}

describe('two clocks that are never read at once', () => {
  const job = {
    id: 'a',
    payload: '1',
    ifExists: 'replace',
    maxWaitMs: undefined,
    extras: undefined,
  } as const;

  async function nextClaims(provider: MemoryProvider, clock: VirtualClock): Promise<readonly Claim[]> {
    for (let look = 0; look < 20_000; look++) {
      const { claims } = await provider.claim('t', { limit: 1, leaseMs: 60_000 });
      if (claims.length > 0) return claims;
      clock.jump(1);
    }
    throw new Error('Nothing was handed out');
  }

  it.each<[string, (provider: MemoryProvider, clock: VirtualClock) => Promise<unknown>]>([
    ['scheduled', (provider) => provider.add('t', [{ ...job, ...delayOf(200) }])],
    [
      'replaced',
      async (provider) => {
        await provider.add('t', [{ ...job, ...delayOf(10_000) }]);
        await provider.add('t', [{ ...job, ...delayOf(200) }]);
      },
    ],
    [
      'replaced up to maxWait',
      async (provider) => {
        await provider.add('t', [{ ...job, ...delayOf(10_000) }]);
        await provider.add('t', [{ ...job, ...delayOf(10_000), maxWaitMs: 3_000 }]);
      },
    ],
    [
      'rescheduled',
      async (provider) => {
        await provider.add('t', [{ ...job, ...delayOf(10_000) }]);
        await provider.reschedule('t', [{ id: 'a', ...delayOf(200) }]);
      },
    ],
    [
      'retried',
      async (provider, clock) => {
        await provider.add('t', [{ ...job, ...delayOf(0) }]);
        const [claim] = await nextClaims(provider, clock);
        await provider.settle('t', [
          { id: 'a', token: claim!.token, outcome: 'retry', delayMs: 200, extras: undefined },
        ]);
      },
    ],
  ])('hand out a job that was %s no earlier than the due time they name', async (_what, prepare) => {
    const clock = new InterruptedClock(1_000_000);
    const provider = new MemoryProvider();
    const deadLetters = { maxCount: 10, maxAgeMs: 1_000_000 };
    await provider.open({ clock, queueName: 'test', deadLetters, report: () => undefined });
    await prepare(provider, clock);
    const { dueAt } = (await provider.get('t', 'a'))!;
    clock.interruptionMs = 0;

    await nextClaims(provider, clock);

    expect(clock.wallNow()).toBeGreaterThanOrEqual(dueAt);
    await provider.close();
  });
});
