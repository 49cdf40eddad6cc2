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
    return this.purge({ keepNewest: this.retention.maxCount, olderThanMs: this.retention.maxAgeMs });
  }

  get(deadLetterId: string): DeadLetterRecord | undefined {
    return this.letters.get(Number(deadLetterId));
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
    return deadLetterIds.filter((deadLetterId) => this.letters.delete(Number(deadLetterId))).length;
  }

  purge({ olderThanMs = Infinity, keepNewest = Infinity }: DeadLetterPurge): number {
    const before = this.letters.size;
    const oldestKept = this.clock.wallNow() - olderThanMs;
    for (const [key, letter] of this.letters) {
      if (this.letters.size <= keepNewest && letter.diedAt >= oldestKept) break;
      this.letters.delete(key);
    }
    return before - this.letters.size;
  }
}
