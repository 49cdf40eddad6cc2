/** `Symbol.for`, so that two copies of this package in one process agree. */
export const DELAYED_METADATA = Symbol.for('nestjs-delay-queue:delayed');

export const DEFAULT_QUEUE_NAME = 'default';

/** Injection tokens inside the module of one queue. */
export const DELAY_QUEUE_NAME = Symbol.for('nestjs-delay-queue:name');
export const DELAY_QUEUE_OPTIONS = Symbol.for('nestjs-delay-queue:options');
export const DELAY_QUEUE_RUNTIME = Symbol.for('nestjs-delay-queue:runtime');

/**
 * The injection token of a queue's `DelayQueueService`.
 * @param name as given to `forRoot`
 */
export function getDelayQueueToken(name: string = DEFAULT_QUEUE_NAME): string {
  return `nestjs-delay-queue:service:${name}`;
}
