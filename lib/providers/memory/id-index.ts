/**
 * Parts the index is cut into. A Map that grows moves all its entries at once, which at a million takes a tenth of a
 * second in which nothing runs; a part takes its share of that.
 */
const PARTS = 32;

/**
 * Which job an id names: the latest one scheduled under it. A job that runs no longer holds its id, so another can take
 * it; the older ones are kept in mind, and get the id back when the later one is gone.
 */
export class IdIndex {
  private readonly parts: (Map<string, number> | undefined)[] = Array.from({ length: PARTS });
  /** Jobs whose id was taken, oldest first. */
  private readonly displaced = new Map<string, number[]>();

  get(id: string): number | undefined {
    return this.parts[partOf(id)]?.get(id);
  }

  /** The slot takes the id, whoever has it. */
  take(id: string, slot: number): void {
    const part = (this.parts[partOf(id)] ??= new Map());
    const older = part.get(id);
    part.set(id, slot);
    if (older === undefined) return;
    const others = this.displaced.get(id);
    if (others) others.push(older);
    else this.displaced.set(id, [older]);
  }

  /** The slot is gone. */
  leave(id: string, slot: number): void {
    const part = this.parts[partOf(id)];
    if (!part) return;
    const isLatest = part.get(id) === slot;
    const others = this.displaced.get(id);
    if (!others) {
      if (isLatest) part.delete(id);
      return;
    }
    if (isLatest) part.set(id, others.pop()!);
    else others.splice(others.indexOf(slot), 1);
    if (others.length === 0) this.displaced.delete(id);
  }
}

/** By the last characters, which differ in generated ids and in most that people count up. */
function partOf(id: string): number {
  const last = id.length - 1;
  return (id.charCodeAt(last) + (last > 0 ? id.charCodeAt(last - 1) * 7 : 0)) % PARTS;
}
