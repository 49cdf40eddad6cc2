import 'reflect-metadata';
import { DEFAULT_QUEUE_NAME, DELAYED_METADATA } from '../delay-queue.constants.js';
import { describeValue } from '../describe-value.js';
import { InvalidHandlerError, InvalidOptionsError } from '../delay-queue.errors.js';
import type { TopicOptions } from '../delay-queue.options.js';
import { assertTopic } from '../names.js';
import type { RecurrenceOptions } from '../recurring/recurrence.js';

export interface DelayedOptions extends TopicOptions, RecurrenceOptions {
  /** The queue whose jobs these are, as named in `forRoot`. @default 'default' */
  readonly queue?: string;
}

/** What `@Delayed` leaves on a method, once for each time it is applied. */
export interface DelayedMetadata {
  readonly topic: string;
  readonly queue: string;
  readonly options: TopicOptions;
  readonly recurrence: RecurrenceOptions;
}

/**
 * Marks a method of a controller or provider as the handler of a topic. It is called with `(payload, job)` when a job
 * falls due; when it returns or its promise resolves the job is complete, when it throws the job is retried. A topic
 * has one handler in an application; a method can handle several topics, one `@Delayed` for each.
 *
 * With `every` or `cron` the topic also has a recurring schedule, once over all instances; taking it out of the code
 * ends it at the next boot. Its jobs have no payload.
 * @throws InvalidHandlerError on anything that is not an instance method, and on generators, which nobody would run
 * @throws InvalidNameError for a topic that is no topic
 * @example
 * @Delayed('order.expire', { concurrency: 10, backoff: { type: 'exponential', delay: '1s' } })
 * async expire(payload: { orderId: string }, job: Job) {}
 */
export function Delayed(topic: string, options: DelayedOptions = {}): MethodDecorator {
  return (target, key, descriptor) => {
    const method: unknown = (descriptor as PropertyDescriptor | undefined)?.value;
    assertHandler(target, key, method, topic);
    assertTopic(topic, `mark ${nameOf(target, key)} with @Delayed`);
    const given: unknown = options;
    if (typeof given !== 'object' || given === null) {
      throw new InvalidOptionsError(
        'options',
        `@Delayed(${JSON.stringify(topic)}) on ${nameOf(target, key)}: the options are ${describeValue(given)}. ` +
          `Give an object, or leave them out.`,
      );
    }
    const {
      queue = DEFAULT_QUEUE_NAME,
      every,
      cron,
      timezone,
      misfire,
      misfireGrace,
      ...topicOptions
    } = options;
    const recurrence = { every, cron, timezone, misfire, misfireGrace };
    const entry: DelayedMetadata = { topic, queue, options: topicOptions, recurrence };
    // On the prototype and key, not on the function: another decorator may wrap the function.
    const others = readDelayed(target, key);
    Reflect.defineMetadata(DELAYED_METADATA, [entry, ...others], target, key);
  };
}

/** What `@Delayed` left on a method of this very prototype, in the order of the source. */
export function readDelayed(prototype: object, key: string | symbol): readonly DelayedMetadata[] {
  return (Reflect.getOwnMetadata(DELAYED_METADATA, prototype, key) as DelayedMetadata[] | undefined) ?? [];
}

function assertHandler(target: object, key: string | symbol, method: unknown, topic: string): void {
  const name = nameOf(target, key);
  const fault = faultOf(target, method);
  if (fault !== undefined) {
    throw new InvalidHandlerError(
      `@Delayed(${JSON.stringify(topic)}) on ${name}: ${fault}. Put it on an instance method.`,
    );
  }
}

function faultOf(target: object, method: unknown): string | undefined {
  if (typeof target === 'function') return 'a static method has no instance to be called on';
  if (typeof method !== 'function') return 'it is a property or an accessor, not a method';
  if (method.constructor.name.endsWith('GeneratorFunction'))
    return 'nobody would run what a generator yields';
  return undefined;
}

function nameOf(target: object, key: string | symbol): string {
  const owner = typeof target === 'function' ? target.name : target.constructor.name;
  return `${owner}.${String(key)}`;
}
