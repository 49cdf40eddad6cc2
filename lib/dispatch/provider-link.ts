import type { Logger } from '@nestjs/common';
import type { DelayQueueEvents } from '../observe/events.js';

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/** Whether the store answers: one event and one line of log when that changes, and how long to wait before asking again. */
export class ProviderLink {
  private failures = 0;

  constructor(
    private readonly events: DelayQueueEvents,
    private readonly logger: Logger,
  ) {}

  works(): void {
    if (this.failures === 0) return;
    this.failures = 0;
    this.logger.log('The store answers again.');
    this.events.emit({ type: 'provider-recovered' });
  }

  /** @returns how long to wait before the next try, ms: growing, and random so that instances do not return as one */
  failed(operation: string, error: unknown): number {
    if (this.failures === 0) {
      this.logger.error(
        `The store failed to ${operation}; trying again until it answers: ${error instanceof Error ? error.message : String(error)}`,
      );
      this.events.emit({ type: 'provider-lost', error });
    }
    const ceilingMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(this.failures, 10));
    this.failures++;
    return ceilingMs * (0.5 + Math.random() / 2);
  }
}
