import { Inject } from '@nestjs/common';
import { DEFAULT_QUEUE_NAME, getDelayQueueToken } from '../delay-queue.constants.js';

/**
 * Injects the `DelayQueueService` of a named queue. The default queue can be injected by its class as well.
 * @example constructor(@InjectDelayQueue('billing') private readonly billing: DelayQueueService) {}
 */
export function InjectDelayQueue(name: string = DEFAULT_QUEUE_NAME): ParameterDecorator & PropertyDecorator {
  return Inject(getDelayQueueToken(name));
}
