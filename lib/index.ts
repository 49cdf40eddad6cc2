// In the order a job moves.
export { DelayQueueModule } from './delay-queue.module.js';
export type {
  BackoffFunction,
  BackoffOptions,
  DelayQueueModuleExtras,
  DelayQueueOptions,
  DelayQueueOptionsFactory,
  MemoryProviderConfig,
  RedisProviderConfig,
  RateLimitOptions,
  TopicOptions,
} from './delay-queue.options.js';
export { DEFAULT_QUEUE_NAME, getDelayQueueToken } from './delay-queue.constants.js';
export { InjectDelayQueue } from './handlers/inject-delay-queue.decorator.js';

export {
  DelayQueueService,
  type ScheduleRequest,
  type ScheduleResult,
} from './schedule/delay-queue.service.js';
export type { ScheduleOptions } from './schedule/schedule-options.js';
export type { DeadLetter, JobView } from './schedule/job-view.js';
export type { DueWindow, FindOptions, PageOptions, WindowMove } from './schedule/windows.js';
export type { DeadLetters, PurgeOptions, RequeueOptions, RequeueResult } from './schedule/dead-letters.js';
export type { DueTimeOptions } from './schedule/due-time.js';
export { type Duration, parseDuration } from './duration.js';
export { jsonSerializer, type PayloadSerializer } from './schedule/payload-codec.js';

export type { Misfire, Recurrence, RecurrenceOptions } from './recurring/recurrence.js';
export type { RecurringOptions, RecurringSchedules, RecurringView } from './recurring/recurring-schedules.js';

export type * from './providers/delay-queue.provider.js';
export { MemoryProvider, type MemoryProviderOptions } from './providers/memory/memory.provider.js';
export { RedisProvider } from './providers/redis/redis.provider.js';
export type { RedisProviderOptions } from './providers/redis/redis.options.js';
export type {
  RedisClientOptions,
  RedisClusterConnection,
  RedisConnection,
  RedisLike,
} from './providers/redis/redis-like.js';
export { ScriptReplyError } from './providers/redis/script-reply.error.js';
export { type Clock, type Precision, SystemClock } from './clock.js';

export { Delayed, type DelayedOptions } from './handlers/delayed.decorator.js';
export type * from './job.js';

export type { DelayQueueEvent } from './observe/events.js';
export * from './delay-queue.errors.js';
