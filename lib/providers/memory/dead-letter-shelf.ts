import type { Clock } from '../../clock.js';
import type {
  DeadLetterPurge,
  DeadLetterRecord,
  DeadLetterRetention,
  Page,
} from '../delay-queue.provider.js';

/** The dead letters of one topic, oldest first. */
export class DeadLetterShelf {
  /** Keys rise in the order of insertion, which is the order a Map keeps. */
  private readonly letters = new Map<number, DeadLetterRecord>();
  private lastKey = 0;

  constructor(
    private readonly clock: Clock,
    private readonly retention: DeadLetterRetention,
  ) {}

  get size(): number {
    return this.letters.size;
  }

  /** @returns how many older ones retention removed to make room */
  add(letter: Omit<DeadLetterRecord, 'deadLetterId' | 'diedAt'>): number {
    const key = ++this.lastKey;
    this.letters.set(key, { ...letter, deadLetterId: String(key), diedAt: this.clock.wallNow() });
    return this.trim();
  }

  get(deadLetterId: string): DeadLetterRecord | undefined {
    return this.letters.get(keyOf(deadLetterId));
  }

  list(limit: number, cursor: string | undefined): Page<DeadLetterRecord> {
    const after = Number(cursor ?? 0);
    const items: DeadLetterRecord[] = [];
    for (const [key, letter] of this.letters) {
      if (key <= after) continue;
      if (items.length === limit) return { items, cursor: items.at(-1)!.deadLetterId };
      items.push(letter);
    }
    return { items, cursor: undefined };
  }

  remove(deadLetterIds: readonly string[]): number {
    return deadLetterIds.filter((deadLetterId) => this.letters.delete(keyOf(deadLetterId))).length;
  }

  purge({ olderThanMs = Infinity, keepNewest = Infinity }: DeadLetterPurge): number {
    const before = this.letters.size;
    const oldestKept = this.clock.wallNow() - olderThanMs;
    // All of them: the wall clock may have been set back between two deaths.
    for (const [key, letter] of this.letters) {
      if (this.letters.size > keepNewest || letter.diedAt < oldestKept) this.letters.delete(key);
    }
    return before - this.letters.size;
  }

  /** What retention asks for, at each death: looks at the oldest only, as the others follow in time. */
  private trim(): number {
    const { maxCount, maxAgeMs } = this.retention;
    const oldestKept = this.clock.wallNow() - maxAgeMs;
    let removed = 0;
    for (const [key, letter] of this.letters) {
      if (this.letters.size <= maxCount && letter.diedAt >= oldestKept) break;
      this.letters.delete(key);
      removed++;
    }
    return removed;
  }
}

/** The key an id names; of a text that merely looks like one, none. */
function keyOf(deadLetterId: string): number {
  const key = Number(deadLetterId);
  return String(key) === deadLetterId ? key : Number.NaN;
}
