import { Logger } from '@nestjs/common';
import { DEFAULT_QUEUE_NAME } from './delay-queue.constants.js';
import type { DelayQueueOptions } from './delay-queue.options.js';
import { Dispatcher } from './dispatch/dispatcher.js';
import { ProviderLink } from './dispatch/provider-link.js';
import type { DiscoveredHandler } from './handlers/handler-explorer.js';
import { invokerOf } from './handlers/handler-invoker.js';
import { HandlerRegistry } from './handlers/handler-registry.js';
import { DelayQueueEvents } from './observe/events.js';
import type { ProviderNotice } from './providers/delay-queue.provider.js';
import { readRecurrence } from './recurring/recurrence.js';
import { RecurringSchedules } from './recurring/recurring-schedules.js';
import { type ResolvedOptions, resolveOptions } from './resolve-options.js';
import { DelayQueueService } from './schedule/delay-queue.service.js';
import { PayloadCodec } from './schedule/payload-codec.js';
import { readTopicOptions, resolveTopicOptions } from './topic-options.js';

const DROP_WARNING_INTERVAL_MS = 60_000;

/** One queue of one application: its provider, service and dispatcher, wired together. Knows nothing of Nest's injector. */
export class DelayQueueRuntime {
  readonly service: DelayQueueService;
  private readonly events = new DelayQueueEvents();
  private readonly registry = new HandlerRegistry();
  private readonly dispatcher: Dispatcher;
  private readonly logger: Logger;
  /** Dead letters removed by retention and not told of yet, by topic. */
  private readonly dropped = new Map<string, number>();
  private nextDropWarningMs = -Infinity;

  private constructor(
    readonly name: string,
    private readonly options: ResolvedOptions,
  ) {
    const { provider, clock } = options;
    this.logger = new Logger(name === DEFAULT_QUEUE_NAME ? 'DelayQueue' : `DelayQueue:${name}`);
    const codec = new PayloadCodec(options.serializer, options.maxPayloadBytes);
    const link = new ProviderLink(this.events, this.logger);
    const recurring = new RecurringSchedules(provider, codec, clock);
    this.service = new DelayQueueService(name, provider, codec, this.events, recurring);
    this.dispatcher = new Dispatcher(
      { provider, clock, codec, events: this.events, link, recurring },
      options.graceMs,
    );
  }

  /**
   * Checks the options and opens the provider.
   * @throws InvalidOptionsError
   * @throws StoreUnavailableError if the provider cannot reach its store
   */
  static async open(name: string, options: DelayQueueOptions): Promise<DelayQueueRuntime> {
    const runtime = new DelayQueueRuntime(name, resolveOptions(options));
    await runtime.openProvider();
    return runtime;
  }

  /**
   * Takes those of the handlers that belong to this queue.
   * @throws DuplicateHandlerError, InvalidOptionsError
   */
  register(handlers: readonly DiscoveredHandler[]): void {
    for (const handler of handlers) {
      if (handler.queue !== this.name) continue;
      const where = `@Delayed(${JSON.stringify(handler.topic)}) on ${handler.name}`;
      this.registry.register({
        topic: handler.topic,
        name: `${handler.name} (${handler.module})`,
        options: resolveTopicOptions(
          this.options.defaults,
          readTopicOptions(handler.options, where),
          this.options.topics.get(handler.topic) ?? {},
        ),
        recurrence: readRecurrence(handler.recurrence, where),
        invoke: invokerOf(handler),
      });
    }
  }

  /** Begins to claim jobs for the registered handlers, and sees to their recurring schedules. */
  async start(): Promise<void> {
    const { recurring } = this.service;
    await Promise.all(
      [...this.registry.all()].map(({ topic, recurrence }) => recurring.declare(topic, recurrence)),
    );
    this.dispatcher.start(this.registry.all());
  }

  /** Ends claiming and waits for running handlers, up to the grace; the service goes on working. */
  stop(): Promise<void> {
    return this.dispatcher.stop();
  }

  async close(): Promise<void> {
    await this.stop();
    await this.options.provider.close();
    this.events.complete();
  }

  private async openProvider(): Promise<void> {
    const { provider, clock, deadLetters } = this.options;
    await provider.open({
      clock,
      queueName: this.name,
      deadLetters,
      report: (notice) => this.report(notice),
    });
  }

  private report(notice: ProviderNotice): void {
    if (notice.type === 'dead-letters-dropped') this.warnOfDropped(notice);
    if (notice.type === 'provider-warning') this.logger.warn(notice.message);
    if (notice.type === 'jobs-set-aside') {
      this.logger.warn(
        `${notice.count} jobs of topic "${notice.topic}" could not be read and are dead letters now, reason "unreadable".`,
      );
    }
    this.events.emit(notice);
  }

  /** Once the cap is reached every further dead letter drops one: a line each would bury the log. */
  private warnOfDropped({ topic, count }: { readonly topic: string; readonly count: number }): void {
    const dropped = (this.dropped.get(topic) ?? 0) + count;
    const nowMs = this.options.clock.now();
    if (nowMs < this.nextDropWarningMs) {
      this.dropped.set(topic, dropped);
      return;
    }
    this.dropped.delete(topic);
    this.nextDropWarningMs = nowMs + DROP_WARNING_INTERVAL_MS;
    this.logger.warn(
      `${dropped} of the oldest dead letters of topic "${topic}" were removed: deadLetters.maxCount or maxAge is reached.`,
    );
  }
}
