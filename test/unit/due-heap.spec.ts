import { describe, expect, it } from '@jest/globals';
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { DueHeap } from '../../lib/providers/memory/due-heap.js';

interface Entry {
  readonly slot: number;
  readonly due: number;
  readonly sequence: number;
}

const byDue = (a: Entry, b: Entry): number =>
  a.due < b.due ? -1 : a.due > b.due ? 1 : a.sequence - b.sequence;

/** What the heap is a faster version of: an array that is sorted whenever someone looks. */
class SortedModel {
  private entries: Entry[] = [];

  get sorted(): readonly Entry[] {
    return [...this.entries].toSorted(byDue);
  }

  get size(): number {
    return this.entries.length;
  }

  find(slot: number): Entry | undefined {
    return this.entries.find((entry) => entry.slot === slot);
  }

  push(entry: Entry): void {
    this.entries.push(entry);
  }

  remove(slot: number): boolean {
    const before = this.entries.length;
    this.entries = this.entries.filter((entry) => entry.slot !== slot);
    return this.entries.length < before;
  }

  pop(): number {
    const [head] = this.sorted;
    if (!head) return -1;
    this.remove(head.slot);
    return head.slot;
  }

  dueBy(until: number): number[] {
    return this.entries.filter(({ due }) => due <= until).map(({ slot }) => slot);
  }
}

const SLOTS = 60;

/** Few distinct values, so that ties are the rule, and the values that break a comparator which subtracts. */
const anyDue = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 5 }) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 2 ** 40 }) },
  { weight: 2, arbitrary: fc.double({ noNaN: true }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      -8.64e15,
      8.64e15,
      253_402_300_799_999,
      Number.MAX_VALUE,
      -Number.MAX_VALUE,
      Number.MIN_VALUE,
      -0,
      Infinity,
      -Infinity,
    ),
  },
);
const anySlot = fc.nat(SLOTS - 1);
const anyRank = fc.nat(9);

type Step =
  | { readonly do: 'push' | 'update'; readonly slot: number; readonly due: number; readonly rank: number }
  | { readonly do: 'remove'; readonly slot: number }
  | { readonly do: 'pop' }
  | { readonly do: 'due'; readonly until: number };

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('push' as const), slot: anySlot, due: anyDue, rank: anyRank }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('update' as const), slot: anySlot, due: anyDue, rank: anyRank }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), slot: anySlot }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pop' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('due' as const), until: anyDue }) },
);

/** Sequences need not rise: a released job comes back with the one it had. They are never equal. */
const sequenceOf = (rank: number, step: number): number => rank * 1_000_000 + step;

function take(heap: DueHeap, model: SortedModel, step: Step, index: number): void {
  switch (step.do) {
    case 'push': {
      if (model.find(step.slot)) return;
      const entry = { slot: step.slot, due: step.due, sequence: sequenceOf(step.rank, index) };
      heap.push(entry.slot, entry.due, entry.sequence);
      return model.push(entry);
    }
    case 'update': {
      if (!model.remove(step.slot)) return;
      const entry = { slot: step.slot, due: step.due, sequence: sequenceOf(step.rank, index) };
      heap.update(entry.slot, entry.due, entry.sequence);
      return model.push(entry);
    }
    case 'remove':
      return assert.equal(heap.remove(step.slot), model.remove(step.slot));
    case 'pop':
      return assert.equal(heap.pop(), model.pop());
    case 'due':
      return assert.deepEqual(
        visited((visit) => heap.forEachDue(step.until, visit)),
        model.dueBy(step.until).toSorted((a, b) => a - b),
      );
    default:
      step satisfies never;
  }
}

function visited(each: (visit: (slot: number) => void) => void): number[] {
  const slots: number[] = [];
  each((slot) => slots.push(slot));
  return slots.toSorted((a, b) => a - b);
}

// `assert` and not `expect` in what a property repeats: it is twenty times as fast.
function expectSameHead(heap: DueHeap, model: SortedModel): void {
  const [head] = model.sorted;
  assert.equal(heap.size, model.size);
  assert.equal(heap.headSlot, head?.slot ?? -1);
  assert.equal(heap.headDue, head?.due ?? Infinity);
  assert.equal(heap.headSequence, head?.sequence ?? Infinity);
}

function expectSameSlots(heap: DueHeap, model: SortedModel): void {
  for (let slot = 0; slot < SLOTS + 5; slot++) {
    const entry = model.find(slot);
    assert.equal(heap.has(slot), entry !== undefined);
    if (!entry) continue;
    assert.equal(heap.dueOf(slot), entry.due);
    assert.equal(heap.sequenceOf(slot), entry.sequence);
  }
}

function drain(heap: DueHeap): number[] {
  const slots: number[] = [];
  for (let slot = heap.pop(); slot !== -1; slot = heap.pop()) slots.push(slot);
  return slots;
}

function heapOf(dues: readonly number[]): DueHeap {
  const heap = new DueHeap();
  dues.forEach((due, slot) => heap.push(slot, due, slot));
  return heap;
}

describe('the due heap', () => {
  it('does what a sorted array does, whatever is pushed, moved, removed and popped', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 200, size: 'max' }), (steps) => {
        const heap = new DueHeap();
        const model = new SortedModel();

        steps.forEach((step, index) => {
          take(heap, model, step, index);
          expectSameHead(heap, model);
        });

        expectSameSlots(heap, model);
        const slots = model.sorted.map(({ slot }) => slot);
        assert.deepEqual(
          visited((visit) => heap.forEach(visit)),
          slots.toSorted((a, b) => a - b),
        );
        assert.deepEqual(drain(heap), slots);
        assert.equal(heap.size, 0);
      }),
      { numRuns: 300 },
    );
  });

  it('keeps every slot in its place through each single change', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 60, size: 'max' }), (steps) => {
        const heap = new DueHeap();
        const model = new SortedModel();

        for (const [index, step] of steps.entries()) {
          take(heap, model, step, index);
          expectSameSlots(heap, model);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('sorts any number of entries by due time and then by sequence', () => {
    fc.assert(
      fc.property(fc.array(anyDue, { maxLength: 2_000, size: 'max' }), (dues) => {
        const expected = dues.map((due, slot) => ({ slot, due, sequence: slot })).toSorted(byDue);

        expect(drain(heapOf(dues))).toEqual(expected.map(({ slot }) => slot));
      }),
      { numRuns: 50 },
    );
  });

  it('holds a hundred thousand entries, a third of them moved and a third removed, in order', () => {
    const count = 100_000;
    const random = fc.sample(fc.infiniteStream(fc.nat(1_000)), { numRuns: 1, seed: 7 })[0]!;
    const next = (): number => random.next().value;
    const heap = new DueHeap();
    const kept = new Map<number, Entry>();
    for (let slot = 0; slot < count; slot++) {
      const entry = { slot, due: next(), sequence: slot };
      heap.push(slot, entry.due, entry.sequence);
      kept.set(slot, entry);
    }

    for (let slot = 0; slot < count; slot += 3) {
      const moved = { slot, due: next(), sequence: count + slot };
      heap.update(slot, moved.due, moved.sequence);
      kept.set(slot, moved);
    }
    for (let slot = 1; slot < count; slot += 3) {
      heap.remove(slot);
      kept.delete(slot);
    }

    expect(heap.size).toBe(kept.size);
    expect(drain(heap)).toEqual([...kept.values()].toSorted(byDue).map(({ slot }) => slot));
  });

  it('orders 1, 2, 10, 9, 100, equal times, 0 and far dates as numbers (B215)', () => {
    const far = 253_402_300_799_999;
    const dues = [1, 2, 10, 9, 100, 9, 0, far, far - 1, 2, 0];

    expect(drain(heapOf(dues)).map((slot) => dues[slot])).toEqual([
      0,
      0,
      1,
      2,
      2,
      9,
      9,
      10,
      100,
      far - 1,
      far,
    ]);
  });

  it('orders times whose difference is no number, or overflows 32 bits (B215)', () => {
    const dues = [
      Infinity,
      Number.MAX_VALUE,
      2 ** 31,
      2 ** 31 - 1,
      2 ** 32,
      -(2 ** 31),
      -Number.MAX_VALUE,
      -Infinity,
    ];

    expect(drain(heapOf(dues))).toEqual([7, 6, 5, 3, 2, 4, 1, 0]);
  });

  it('puts Infinity behind everything, and keeps the order of sequences among equal infinities', () => {
    const heap = heapOf([Infinity, Infinity, 0, Infinity]);

    expect(drain(heap)).toEqual([2, 0, 1, 3]);
  });

  it('keeps the order of sequences in a thousand ties, whatever else comes and goes (B213)', () => {
    const heap = new DueHeap();
    const ties = 1_000;
    for (let slot = 0; slot < ties; slot++) {
      heap.push(slot, 50, slot);
      heap.push(ties + slot, slot % 2 ? 49 : 51, ties + slot);
      if (slot % 5 === 0) heap.remove(ties + slot);
    }

    expect(drain(heap).filter((slot) => slot < ties)).toEqual(
      Array.from({ length: ties }, (_, slot) => slot),
    );
  });

  it('says so when it is empty', () => {
    const heap = new DueHeap();

    expect(heap).toMatchObject({ size: 0, headDue: Infinity, headSequence: Infinity, headSlot: -1 });
    expect(heap.pop()).toBe(-1);
    expect(heap.remove(0)).toBe(false);
    expect(heap.has(0)).toBe(false);
    expect(visited((visit) => heap.forEachDue(Infinity, visit))).toEqual([]);
  });

  it('does not know slots beyond those it was ever given', () => {
    const heap = heapOf([1, 2, 3]);

    expect(heap.has(1_000_000)).toBe(false);
    expect(heap.remove(1_000_000)).toBe(false);
    expect(heap.size).toBe(3);
  });

  it('takes a slot far beyond the others', () => {
    const heap = heapOf([5, 1]);

    heap.push(100_000, 3, 2);

    expect(heap.dueOf(100_000)).toBe(3);
    expect(drain(heap)).toEqual([1, 100_000, 0]);
  });

  it('works on after it has grown large, was emptied and gave its memory back', () => {
    const heap = new DueHeap();
    for (let round = 0; round < 3; round++) {
      for (let slot = 0; slot < 5_000; slot++) heap.push(slot, 5_000 - slot, slot);
      expect(heap.headSlot).toBe(4_999);
      if (round === 1) for (let slot = 0; slot < 5_000; slot++) heap.remove(slot);
      else expect(drain(heap)).toHaveLength(5_000);

      expect(heap.size).toBe(0);
      for (let slot = 0; slot < 5_000; slot++) assert.equal(heap.has(slot), false);
    }
    heap.push(3, 1, 1);
    expect(heap).toMatchObject({ size: 1, headSlot: 3 });
  });

  it('gives memory back although few entries had large slots', () => {
    const heap = new DueHeap();
    heap.push(1_000_000, 1, 1);

    heap.pop();

    // How much it holds shows nowhere else.
    expect(heap['places'].length).toBeLessThanOrEqual(4_096);
  });

  it('visits what is due, the bound included, and nothing later', () => {
    const heap = heapOf([10, 20, 20, 30, 5]);

    expect(visited((visit) => heap.forEachDue(20, visit))).toEqual([0, 1, 2, 4]);
    expect(visited((visit) => heap.forEachDue(4.999, visit))).toEqual([]);
    expect(visited((visit) => heap.forEachDue(Infinity, visit))).toEqual([0, 1, 2, 3, 4]);
  });
});
