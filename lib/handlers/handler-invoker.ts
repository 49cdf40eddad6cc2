import { isObservable, lastValueFrom } from 'rxjs';
import type { Job } from '../job.js';
import type { HandlerRegistration } from './handler-registry.js';
import { type DiscoveredHandler, methodOf } from './handler-explorer.js';

/**
 * How a job reaches its handler: `(payload, job)` by position, on the one instance. The result may be a value, a
 * promise or an Observable; it is waited for and then forgotten, so it need not be serializable.
 */
export function invokerOf(handler: DiscoveredHandler): HandlerRegistration['invoke'] {
  const method = methodOf(handler);
  return async (payload: unknown, job: Job): Promise<void> => {
    const result = await method(payload, job);
    if (isObservable(result)) await lastValueFrom(result, { defaultValue: undefined });
  };
}
