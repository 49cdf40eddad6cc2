import { ShutdownError } from '../delay-queue.errors.js';
import type { HandlerRegistration } from '../handlers/handler-registry.js';
import { withDeadline } from './deadline.js';
import { type DispatchContext, TopicDispatcher } from './topic-dispatcher.js';
import { Waker } from './waker.js';

/** How long handlers get to react to their aborted signal, ms. */
const ABORT_GRACE_MS = 500;

/** Runs the jobs of one queue: a `TopicDispatcher` for each topic that has a handler, and one timer for all of them. */
export class Dispatcher {
  private readonly byTopic = new Map<string, TopicDispatcher>();
  private readonly context: DispatchContext;
  private stopping: Promise<void> | undefined;

  constructor(
    context: Omit<DispatchContext, 'waker'>,
    private readonly graceMs: number,
  ) {
    const waker = new Waker(context.clock, (topic) => this.byTopic.get(topic)?.ring());
    this.context = { ...context, waker };
  }

  /** Begins to claim for these handlers; harmless for topics it has begun with before. */
  start(handlers: Iterable<HandlerRegistration>): void {
    if (this.stopping) return;
    for (const handler of handlers) {
      if (this.byTopic.has(handler.topic)) continue;
      const dispatcher = new TopicDispatcher(handler, this.context);
      this.byTopic.set(handler.topic, dispatcher);
      dispatcher.start();
    }
  }

  /**
   * Claims nothing more, waits for the handlers that run, aborts those that take longer than the grace, and returns
   * soon after even if one does not react: its job keeps its lease and comes back when that expires.
   */
  stop(): Promise<void> {
    return (this.stopping ??= this.drain());
  }

  private async drain(): Promise<void> {
    const { clock } = this.context;
    const dispatchers = [...this.byTopic.values()];
    for (const dispatcher of dispatchers) dispatcher.stop();
    const idle = Promise.all(dispatchers.map((dispatcher) => dispatcher.idle())).then(() => true);

    if (!(await withDeadline(idle, this.graceMs, clock, () => false))) {
      for (const dispatcher of dispatchers) dispatcher.abort(new ShutdownError(this.graceMs));
      await withDeadline(idle, ABORT_GRACE_MS, clock, () => false);
    }
    for (const dispatcher of dispatchers) dispatcher.close();
  }
}
