/**
 * Which job an id names: the latest one scheduled under it. A job that runs no longer holds its id, so another can take
 * it; the older ones are kept in mind, and get the id back when the later one is gone.
 */
export class IdIndex {
  private readonly latest = new Map<string, number>();
  /** Oldest first. */
  private readonly displaced = new Map<string, number[]>();

  get(id: string): number | undefined {
    return this.latest.get(id);
  }

  /** The slot takes the id, whoever has it. */
  take(id: string, slot: number): void {
    const older = this.latest.get(id);
    this.latest.set(id, slot);
    if (older === undefined) return;
    const others = this.displaced.get(id);
    if (others) others.push(older);
    else this.displaced.set(id, [older]);
  }

  /** The slot is gone. */
  leave(id: string, slot: number): void {
    const isLatest = this.latest.get(id) === slot;
    const others = this.displaced.get(id);
    if (!others) {
      if (isLatest) this.latest.delete(id);
      return;
    }
    if (isLatest) this.latest.set(id, others.pop()!);
    else others.splice(others.indexOf(slot), 1);
    if (others.length === 0) this.displaced.delete(id);
  }
}
