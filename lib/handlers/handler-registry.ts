import { DuplicateHandlerError } from '../delay-queue.errors.js';
import type { Job } from '../job.js';
import type { Recurrence } from '../recurring/recurrence.js';
import type { ResolvedTopicOptions } from '../topic-options.js';

/** The handler of one topic, ready to be called. */
export interface HandlerRegistration {
  readonly topic: string;
  /** `OrdersController.expire`, for messages. */
  readonly name: string;
  readonly options: ResolvedTopicOptions;
  readonly recurrence: Recurrence | undefined;
  /** Calls the method; rejects with whatever it throws. */
  readonly invoke: (payload: unknown, job: Job) => Promise<unknown>;
}

/** The handlers of one queue, one a topic. */
export class HandlerRegistry {
  private readonly byTopic = new Map<string, HandlerRegistration>();

  /** @throws DuplicateHandlerError if the topic has a handler already */
  register(handler: HandlerRegistration): void {
    const other = this.byTopic.get(handler.topic);
    if (other) throw new DuplicateHandlerError(handler.topic, other.name, handler.name);
    this.byTopic.set(handler.topic, handler);
  }

  get(topic: string): HandlerRegistration | undefined {
    return this.byTopic.get(topic);
  }

  all(): IterableIterator<HandlerRegistration> {
    return this.byTopic.values();
  }
}
