import type { DelayQueueEvent, DelayQueueOptions, Job, TopicOptions } from '../../lib/index.js';
import { DelayQueueRuntime } from '../../lib/delay-queue.runtime.js';
import type { ProviderContext, ProviderNotice } from '../../lib/providers/delay-queue.provider.js';
import type { RedisProviderOptions } from '../../lib/providers/redis/redis.options.js';
import { RedisProvider } from '../../lib/providers/redis/redis.provider.js';
import { SystemClock } from '../../lib/clock.js';

export const TOPIC = 'order.expire';

/** One instance of an application on Redis, in real time, without Nest around it. */
export interface RedisInstance {
  readonly runtime: DelayQueueRuntime;
  readonly service: DelayQueueRuntime['service'];
  readonly events: DelayQueueEvent[];
}

export async function startRedisInstance(
  redis: RedisProviderOptions,
  handle?: (job: Job) => unknown,
  topic: TopicOptions = {},
  options: DelayQueueOptions = {},
): Promise<RedisInstance> {
  const runtime = await DelayQueueRuntime.open('default', { provider: new RedisProvider(redis), ...options });
  if (handle) {
    runtime.register([
      {
        topic: TOPIC,
        queue: 'default',
        options: topic,
        recurrence: {},
        name: 'Handlers.run',
        module: 'TestModule',
        key: 'run',
        instance: { run: (_payload: unknown, job: Job) => handle(job) },
      },
    ]);
  }
  const events: DelayQueueEvent[] = [];
  runtime.service.events$.subscribe((event) => events.push(event));
  await runtime.start();
  return { runtime, service: runtime.service, events };
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
