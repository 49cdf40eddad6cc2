import type { Logger } from '@nestjs/common';
import type { DelayQueueEvents } from '../observe/events.js';

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/**
 * Whether the store does what it is asked: one event and one line of log when that changes, and how long to wait before
 * asking again. Counted for each operation, as a store may take one and refuse another.
 */
export class ProviderLink {
  private readonly failures = new Map<string, number>();

  constructor(
    private readonly events: DelayQueueEvents,
    private readonly logger: Logger,
  ) {}

  works(operation: string): void {
    if (this.failures.size === 0 || !this.failures.delete(operation) || this.failures.size > 0) return;
    this.logger.log('The store answers again.');
    this.events.emit({ type: 'provider-recovered' });
  }

  /** @returns how long to wait before the next try, ms: growing, and random so that instances do not return as one */
  failed(operation: string, error: unknown): number {
    if (this.failures.size === 0) {
      this.logger.error(
        `The store failed to ${operation}; trying again until it answers: ${error instanceof Error ? error.message : String(error)}`,
      );
      this.events.emit({ type: 'provider-lost', error });
    }
    const before = this.failures.get(operation) ?? 0;
    this.failures.set(operation, before + 1);
    const ceilingMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(before, 10));
    return ceilingMs * (0.5 + Math.random() / 2);
  }
}
