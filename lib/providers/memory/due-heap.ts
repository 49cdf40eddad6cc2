const ARITY = 4;
const INITIAL_CAPACITY = 16;

/** An empty heap that was larger than this gives its memory back. */
const KEPT_CAPACITY = 4_096;

/** How much room a full array is given. Twice keeps copying below one move a push. */
const GROWTH = 2;

/**
 * Slots in the order of `(due, sequence)`: an indexed 4-ary heap. A slot is a small whole number the owner gave out;
 * its position is known, so removing and moving it cost O(log n) as well.
 *
 * Keys lie in the order of the heap, not of the slots: the four children of a node share a cache line, and a million
 * entries are typed arrays of 24 bytes each that the garbage collector never looks into.
 */
export class DueHeap {
  private length = 0;
  private dues = new Float64Array(INITIAL_CAPACITY);
  private sequences = new Float64Array(INITIAL_CAPACITY);
  private slots = new Int32Array(INITIAL_CAPACITY);
  /** By slot: its place in the heap plus one, so that fresh memory says "not here". */
  private places = new Int32Array(INITIAL_CAPACITY);

  get size(): number {
    return this.length;
  }

  has(slot: number): boolean {
    return slot < this.places.length && this.places[slot]! > 0;
  }

  /** Due time of the head; `Infinity` when empty. */
  get headDue(): number {
    return this.length > 0 ? this.dues[0]! : Infinity;
  }

  /** Sequence of the head; `Infinity` when empty. */
  get headSequence(): number {
    return this.length > 0 ? this.sequences[0]! : Infinity;
  }

  /** The slot that is due first, or -1. */
  get headSlot(): number {
    return this.length > 0 ? this.slots[0]! : -1;
  }

  /** Of a slot that is here. */
  dueOf(slot: number): number {
    return this.dues[this.places[slot]! - 1]!;
  }

  /** Of a slot that is here. */
  sequenceOf(slot: number): number {
    return this.sequences[this.places[slot]! - 1]!;
  }

  /** @param slot one that is not here yet */
  push(slot: number, due: number, sequence: number): void {
    if (this.length === this.slots.length) this.grow();
    if (slot >= this.places.length) this.growPlaces(slot);
    this.siftUp(this.length++, slot, due, sequence);
  }

  /** Gives a slot that is here another due time. */
  update(slot: number, due: number, sequence: number): void {
    this.place(this.places[slot]! - 1, slot, due, sequence);
  }

  /** Takes the head out. @returns its slot, or -1 when empty */
  pop(): number {
    if (this.length === 0) return -1;
    const slot = this.slots[0]!;
    this.places[slot] = 0;
    const last = --this.length;
    if (last > 0) this.siftDown(0, this.slots[last]!, this.dues[last]!, this.sequences[last]!);
    else this.shrink();
    return slot;
  }

  /** @returns whether it was here */
  remove(slot: number): boolean {
    if (!this.has(slot)) return false;
    const hole = this.places[slot]! - 1;
    this.places[slot] = 0;
    const last = --this.length;
    if (hole < last) this.place(hole, this.slots[last]!, this.dues[last]!, this.sequences[last]!);
    else if (last === 0) this.shrink();
    return true;
  }

  /** Calls `visit` for every slot due at `until` or before, in no order, without looking at later ones. */
  forEachDue(until: number, visit: (slot: number) => void, from = 0): void {
    if (from >= this.length || this.dues[from]! > until) return;
    visit(this.slots[from]!);
    const firstChild = from * ARITY + 1;
    for (let child = firstChild; child < firstChild + ARITY; child++) this.forEachDue(until, visit, child);
  }

  /** Calls `visit` for every slot, in no order. */
  forEach(visit: (slot: number) => void): void {
    for (let position = 0; position < this.length; position++) visit(this.slots[position]!);
  }

  /** Puts an entry where one was taken out, and moves it to where it belongs. */
  private place(hole: number, slot: number, due: number, sequence: number): void {
    const parent = (hole - 1) >> 2;
    const rises =
      hole > 0 &&
      (due < this.dues[parent]! || (due === this.dues[parent]! && sequence < this.sequences[parent]!));
    if (rises) this.siftUp(hole, slot, due, sequence);
    else this.siftDown(hole, slot, due, sequence);
  }

  private siftUp(hole: number, slot: number, due: number, sequence: number): void {
    const { dues, sequences, slots, places } = this;
    while (hole > 0) {
      const parent = (hole - 1) >> 2;
      const parentDue = dues[parent]!;
      if (parentDue < due || (parentDue === due && sequences[parent]! < sequence)) break;
      dues[hole] = parentDue;
      sequences[hole] = sequences[parent]!;
      places[(slots[hole] = slots[parent]!)] = hole + 1;
      hole = parent;
    }
    dues[hole] = due;
    sequences[hole] = sequence;
    slots[hole] = slot;
    places[slot] = hole + 1;
  }

  private siftDown(hole: number, slot: number, due: number, sequence: number): void {
    const { dues, sequences, slots, places, length } = this;
    for (;;) {
      let child = hole * ARITY + 1;
      if (child >= length) break;
      const end = Math.min(child + ARITY, length);
      let least = child;
      let leastDue = dues[child]!;
      while (++child < end) {
        const childDue = dues[child]!;
        if (childDue < leastDue || (childDue === leastDue && sequences[child]! < sequences[least]!)) {
          least = child;
          leastDue = childDue;
        }
      }
      if (due < leastDue || (due === leastDue && sequence < sequences[least]!)) break;
      dues[hole] = leastDue;
      sequences[hole] = sequences[least]!;
      places[(slots[hole] = slots[least]!)] = hole + 1;
      hole = least;
    }
    dues[hole] = due;
    sequences[hole] = sequence;
    slots[hole] = slot;
    places[slot] = hole + 1;
  }

  private grow(): void {
    const capacity = Math.ceil(this.slots.length * GROWTH);
    this.dues = copyInto(new Float64Array(capacity), this.dues);
    this.sequences = copyInto(new Float64Array(capacity), this.sequences);
    this.slots = copyInto(new Int32Array(capacity), this.slots);
  }

  private shrink(): void {
    if (this.slots.length <= KEPT_CAPACITY && this.places.length <= KEPT_CAPACITY) return;
    this.dues = new Float64Array(INITIAL_CAPACITY);
    this.sequences = new Float64Array(INITIAL_CAPACITY);
    this.slots = new Int32Array(INITIAL_CAPACITY);
    this.places = new Int32Array(INITIAL_CAPACITY);
  }

  private growPlaces(slot: number): void {
    const capacity = Math.max(slot + 1, Math.ceil(this.places.length * GROWTH));
    this.places = copyInto(new Int32Array(capacity), this.places);
  }
}

function copyInto<Into extends { set(from: ArrayLike<number>): void }>(
  into: Into,
  from: ArrayLike<number>,
): Into {
  into.set(from);
  return into;
}
