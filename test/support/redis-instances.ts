import type { DelayQueueOptions, Job, TopicOptions } from '../../lib/index.js';
import type { ProviderContext, ProviderNotice } from '../../lib/providers/delay-queue.provider.js';
import type { RedisProviderOptions } from '../../lib/providers/redis/redis.options.js';
import { RedisProvider } from '../../lib/providers/redis/redis.provider.js';
import { SystemClock } from '../../lib/clock.js';
import { type Instance, startInstance, type TestHandler } from './instances.js';

export const TOPIC = 'order.expire';

/** One instance of an application on Redis, in real time; without a handler it only schedules. */
export function startRedisInstance(
  redis: RedisProviderOptions,
  handle?: (job: Job) => unknown,
  topic: TopicOptions = {},
  options: DelayQueueOptions = {},
): Promise<Instance> {
  const handlers: Record<string, TestHandler> = handle ? { [TOPIC]: { handle, options: topic } } : {};
  return startInstance(new SystemClock(), handlers, { provider: new RedisProvider(redis), ...options });
}

/** A provider alone, by the server's clock. */
export async function openRedisProvider(
  redis: RedisProviderOptions,
): Promise<{ readonly provider: RedisProvider; readonly notices: ProviderNotice[] }> {
  const provider = new RedisProvider(redis);
  const notices: ProviderNotice[] = [];
  const context: ProviderContext = {
    clock: new SystemClock(),
    queueName: 'default',
    deadLetters: { maxCount: 10_000, maxAgeMs: 86_400_000 },
    report: (notice) => void notices.push(notice),
  };
  await provider.open(context);
  return { provider, notices };
}

/** Waits until `check` holds, looking again and again. @throws Error naming `what` when it does not in time */
export async function until(
  what: string,
  check: () => boolean | Promise<boolean>,
  limitMs = 10_000,
): Promise<void> {
  const giveUpAt = performance.now() + limitMs;
  while (!(await check())) {
    if (performance.now() > giveUpAt) throw new Error(`Waited ${limitMs} ms in vain until ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
