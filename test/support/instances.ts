import type { Clock, DelayQueueEvent, DelayQueueOptions, Job, TopicOptions } from '../../lib/index.js';
import { MemoryProvider } from '../../lib/index.js';
import { DelayQueueRuntime } from '../../lib/delay-queue.runtime.js';

/** A store that outlives those who use it, as Redis would: several instances, one after the other or side by side. */
export class LastingProvider extends MemoryProvider {
  private isOpen = false;

  override async open(context: Parameters<MemoryProvider['open']>[0]): Promise<void> {
    if (this.isOpen) return;
    this.isOpen = true;
    await super.open(context);
  }

  override async close(): Promise<void> {}
}

export type Handle = (job: Job) => unknown;

export interface TestHandler {
  readonly handle: Handle;
  readonly options?: TopicOptions;
}

/** One instance of an application, without Nest around it. */
export interface Instance {
  readonly runtime: DelayQueueRuntime;
  readonly service: DelayQueueRuntime['service'];
  readonly events: DelayQueueEvent[];
  /** Events of one kind, in order. */
  of<Type extends DelayQueueEvent['type']>(type: Type): Extract<DelayQueueEvent, { type: Type }>[];
}

export async function startInstance(
  clock: Clock,
  handlers: Readonly<Record<string, TestHandler | Handle>>,
  options: DelayQueueOptions = {},
): Promise<Instance> {
  const runtime = await DelayQueueRuntime.open('default', { clock, ...options });
  runtime.register(
    Object.entries(handlers).map(([topic, handler]) => {
      const { handle, options: topicOptions = {} } =
        typeof handler === 'function' ? { handle: handler } : handler;
      return {
        topic,
        queue: 'default',
        options: topicOptions,
        recurrence: {},
        name: `Handlers.${topic}`,
        module: 'TestModule',
        key: 'run',
        instance: { run: (_payload: unknown, job: Job) => handle(job) },
      };
    }),
  );
  const events: DelayQueueEvent[] = [];
  runtime.service.events$.subscribe((event) => events.push(event));
  await runtime.start();
  return {
    runtime,
    service: runtime.service,
    events,
    of: (type) => events.filter((event): event is never => event.type === type),
  };
}

/** A handler that is told when to end: `run.end()` or `run.fail(error)`. */
export class HeldHandler {
  readonly runs: HeldRun[] = [];

  readonly handle = (job: Job): Promise<void> =>
    new Promise((resolve, reject) => {
      this.runs.push({ job, end: resolve, fail: reject });
    });
}

export interface HeldRun {
  readonly job: Job;
  readonly end: () => void;
  readonly fail: (error: unknown) => void;
}
