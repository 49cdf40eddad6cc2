import type { ModulesContainer } from '@nestjs/core';
import { InvalidHandlerError, InvalidOptionsError } from '../delay-queue.errors.js';
import type { DiscoveredHandler } from './handler-explorer.js';

/** The queues of one application, by name. */
export class QueueDirectory {
  /** By the object Nest makes for each application, so that several in one process do not meet. */
  private static readonly byApplication = new WeakMap<ModulesContainer, QueueDirectory>();
  private readonly names = new Set<string>();

  static of(application: ModulesContainer): QueueDirectory {
    let directory = this.byApplication.get(application);
    if (!directory) this.byApplication.set(application, (directory = new QueueDirectory()));
    return directory;
  }

  /** @throws InvalidOptionsError if there is a queue of this name */
  add(name: string): void {
    if (this.names.has(name)) {
      throw new InvalidOptionsError(
        'name',
        `Two delay queues are named "${name}". Import one of them only, or give one another name in forRoot.`,
      );
    }
    this.names.add(name);
  }

  /** @throws InvalidHandlerError if a handler asks for a queue that is not here: nobody would ever call it */
  assertQueuesOf(handlers: readonly DiscoveredHandler[]): void {
    const lost = handlers.find(({ queue }) => !this.names.has(queue));
    if (!lost) return;
    throw new InvalidHandlerError(
      `${lost.name} handles topic "${lost.topic}" of queue "${lost.queue}", but there is no such queue. ` +
        `There is: ${[...this.names].map((name) => `"${name}"`).join(', ')}. ` +
        `Import DelayQueueModule.forRoot({ name: ${JSON.stringify(lost.queue)}, … }), or correct the name in @Delayed.`,
    );
  }
}
