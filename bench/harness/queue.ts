import { DEFAULT_QUEUE_NAME } from '../../lib/delay-queue.constants.js';
import type { DelayQueueOptions } from '../../lib/delay-queue.options.js';
import { DelayQueueRuntime } from '../../lib/delay-queue.runtime.js';
import { Delayed, readDelayed } from '../../lib/handlers/delayed.decorator.js';
import type { Job } from '../../lib/job.js';

export const TOPIC = 'order.expire';

/** A queue as the module opens it, without the Nest application around it, which no job passes through. */
export function openQueue(options: DelayQueueOptions = {}): Promise<DelayQueueRuntime> {
  return DelayQueueRuntime.open(DEFAULT_QUEUE_NAME, options);
}

/** Registers `handle` as a `@Delayed(TOPIC)` method is registered; `queue.start()` begins to call it. */
export function addHandler(
  queue: DelayQueueRuntime,
  concurrency: number,
  handle: (payload: never, job: Job) => unknown,
): void {
  class Handler {
    handle(payload: never, job: Job): unknown {
      return handle(payload, job);
    }
  }
  const { prototype } = Handler;
  Delayed(TOPIC, { concurrency })(prototype, 'handle', Object.getOwnPropertyDescriptor(prototype, 'handle')!);
  const place = { name: 'Handler.handle', module: 'Bench', instance: new Handler(), key: 'handle' };
  queue.register(readDelayed(prototype, 'handle').map((metadata) => ({ ...metadata, ...place })));
}
