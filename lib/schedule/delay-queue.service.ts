import type { Observable } from 'rxjs';
import {
  DelayQueueError,
  InvalidOptionsError,
  JobExistsError,
  PartialScheduleError,
  QueueFullError,
} from '../delay-queue.errors.js';
import { OptionReader } from '../check-options.js';
import { describeValue } from '../describe-value.js';
import { assertId, assertTopic } from '../names.js';
import type { DelayQueueEvent, DelayQueueEvents } from '../observe/events.js';
import type {
  AddResult,
  CancelStatus,
  DelayQueueProvider,
  NewJob,
  Page,
  RescheduleStatus,
  TopicCounts,
} from '../providers/delay-queue.provider.js';
import type { RecurringSchedules } from '../recurring/recurring-schedules.js';
import { DeadLetters } from './dead-letters.js';
import { type DueTimeOptions, readDueTime } from './due-time.js';
import { type JobView, mapPage, toJobView } from './job-view.js';
import type { PayloadCodec } from './payload-codec.js';
import { ScheduleBatcher } from './schedule-batcher.js';
import { type ScheduleOptions, toNewJob } from './schedule-options.js';
import { type DueWindow, type FindOptions, type WindowMove, Windows } from './windows.js';

/** One job of `scheduleMany`. */
export interface ScheduleRequest extends ScheduleOptions {
  readonly topic: string;
  /** Anything the serializer can encode; may be absent. */
  readonly payload?: unknown;
}

export interface ScheduleResult {
  /** `kept`: a pending job had this id and stays as it was. `replaced`: it is now the new one. */
  readonly status: 'scheduled' | 'kept' | 'replaced';
  readonly id: string;
  /** When the job of this id is due, epoch ms, by the provider's clock. */
  readonly dueAt: number;
}

const BESIDE_OPTIONS: ReadonlySet<string> = new Set(['topic', 'payload']);

/**
 * Schedules jobs of one queue and looks after those that wait. Every method rejects with a `DelayQueueError`; bad input
 * does so before anything is stored.
 */
export class DelayQueueService {
  /** The jobs that were given up. */
  readonly deadLetters: DeadLetters;
  private readonly batcher: ScheduleBatcher;
  private readonly windows: Windows;

  constructor(
    /** As given to `forRoot`. */
    readonly name: string,
    private readonly provider: DelayQueueProvider,
    private readonly codec: PayloadCodec,
    private readonly events: DelayQueueEvents,
    /** Jobs that come again and again. */
    readonly recurring: RecurringSchedules,
  ) {
    this.batcher = new ScheduleBatcher(provider);
    this.windows = new Windows(provider);
    this.deadLetters = new DeadLetters(provider, codec);
  }

  /** What happens to the jobs of this queue, as seen by this instance. */
  get events$(): Observable<DelayQueueEvent> {
    return this.events.stream;
  }

  /**
   * Schedules one job. Calls made in the same turn of the event loop reach the store together.
   * @param payload encoded at once: changing it later does not change the job
   * @throws InvalidNameError, InvalidDueTimeError, InvalidOptionsError, PayloadNotSerializableError: nothing was stored
   * @throws JobExistsError with `ifExists: 'reject'`
   * @throws QueueFullError when the provider's bound is reached
   * @example await delayQueue.schedule('order.expire', { orderId }, { delay: '30m', id: orderId });
   */
  async schedule(topic: string, payload: unknown, options: ScheduleOptions): Promise<ScheduleResult> {
    assertTopic(topic, 'schedule a job');
    const job = toNewJob(this.codec.encode(topic, payload), options, `schedule a job on topic "${topic}"`);
    const result = await this.batcher.add(topic, job);
    this.tell(topic, result);
    if (isStored(result)) return result;
    throw this.refusalOf(topic, result);
  }

  /**
   * Schedules many jobs in as few round trips as possible. All are checked before the first is stored; those of one topic
   * are stored in the order given, each for itself.
   * @returns one result a request, in the same order; an empty list for an empty list
   * @throws PartialScheduleError if the store refused some: the others are stored, and `results` tells which is which
   */
  async scheduleMany(requests: readonly ScheduleRequest[]): Promise<readonly ScheduleResult[]> {
    if (!Array.isArray(requests)) {
      throw new InvalidOptionsError(
        'requests',
        `Cannot schedule jobs: give an array, not ${describeValue(requests)}.`,
      );
    }
    const byTopic = this.groupByTopic(requests);
    this.batcher.flush();
    const results: (ScheduleResult | DelayQueueError)[] = [];
    await Promise.all(
      [...byTopic].map(async ([topic, { jobs, places }]) => {
        const added = await this.provider.add(topic, jobs);
        added.forEach((result, index) => {
          this.tell(topic, result);
          results[places[index]!] = isStored(result) ? result : this.refusalOf(topic, result);
        });
      }),
    );
    return withoutErrors(results);
  }

  /**
   * Takes a pending job back; a running one is not run again.
   * @param options.abort aborts the signal of a running handler, on whatever instance it runs
   */
  async cancel(topic: string, id: string, options: { readonly abort?: boolean } = {}): Promise<CancelStatus> {
    this.assertNames(topic, id, 'cancel a job');
    const abort = OptionReader.of(options, '', ['abort'], 'cancel a job').flag('abort') ?? false;
    this.batcher.flush();
    const [status] = await this.provider.cancel(topic, [{ id, abort }]);
    if (status === 'cancelled' && this.events.observed) this.events.emit({ type: 'cancelled', topic, id });
    return status!;
  }

  /** Gives a pending job another due time; its payload, options and attempts stay. */
  async reschedule(topic: string, id: string, due: DueTimeOptions): Promise<RescheduleStatus> {
    const operation = `reschedule job ${describeValue(id)} of topic ${describeValue(topic)}`;
    this.assertNames(topic, id, 'reschedule a job');
    OptionReader.of(due, '', ['delay', 'at'], operation);
    const dueTime = readDueTime(due, operation);
    this.batcher.flush();
    const [status] = await this.provider.reschedule(topic, [{ id, ...dueTime }]);
    if (status === 'rescheduled' && this.events.observed)
      this.events.emit({ type: 'rescheduled', topic, id });
    return status!;
  }

  /** The job of this id: the pending one, else one in flight; `undefined` when there is neither. */
  async get(topic: string, id: string): Promise<JobView | undefined> {
    this.assertNames(topic, id, 'get a job');
    this.batcher.flush();
    const job = await this.provider.get(topic, id);
    return job && toJobView(job, this.codec);
  }

  /** How the topic stands, over all instances. */
  async stats(topic: string): Promise<TopicCounts> {
    assertTopic(topic, 'read stats');
    this.batcher.flush();
    return this.provider.counts(topic);
  }

  /** Every topic that holds a job or a dead letter, whether anyone handles it or not. */
  async topics(): Promise<readonly string[]> {
    this.batcher.flush();
    return this.provider.topics();
  }

  /** Jobs in due order, in pages. */
  async find(topic: string, options: FindOptions = {}): Promise<Page<JobView>> {
    assertTopic(topic, 'find jobs');
    this.batcher.flush();
    return mapPage(await this.windows.find(topic, options), (job) => toJobView(job, this.codec));
  }

  /** Makes a pending job due at once. */
  async runNow(topic: string, id: string): Promise<RescheduleStatus> {
    return this.reschedule(topic, id, { delay: 0 });
  }

  /** Cancels every pending job that is due in the window. @returns how many */
  async cancelWindow(topic: string, window: DueWindow): Promise<number> {
    assertTopic(topic, 'cancel jobs');
    this.batcher.flush();
    return this.windows.cancel(topic, window);
  }

  /** Gives every pending job that is due in the window another due time. @returns how many */
  async rescheduleWindow(topic: string, window: DueWindow, move: WindowMove): Promise<number> {
    assertTopic(topic, 'reschedule jobs');
    this.batcher.flush();
    return this.windows.reschedule(topic, window, move);
  }

  /** Starts no more jobs of the topic, on any instance, until `resume`. They keep their due times; running ones go on. */
  async pause(topic: string): Promise<void> {
    assertTopic(topic, 'pause');
    await this.provider.setPaused(topic, true);
  }

  /** Ends `pause`; what fell due meanwhile is started, at the pace of the topic's `rateLimit` if it has one. */
  async resume(topic: string): Promise<void> {
    assertTopic(topic, 'resume');
    await this.provider.setPaused(topic, false);
  }

  private groupByTopic(requests: readonly ScheduleRequest[]): Map<string, Batch> {
    const byTopic = new Map<string, Batch>();
    let batch: Batch | undefined;
    // Not forEach, which passes over holes.
    for (let index = 0; index < requests.length; index++) {
      const request = requests[index]!;
      const topic = this.topicOf(request);
      if (batch?.topic !== topic) {
        batch = byTopic.get(topic) ?? newBatch(topic);
        byTopic.set(topic, batch);
      }
      batch.jobs.push(
        toNewJob(this.codec.encode(topic, request.payload), request, batch.operation, BESIDE_OPTIONS),
      );
      batch.places.push(index);
    }
    return byTopic;
  }

  private topicOf(request: ScheduleRequest): string {
    const topic: unknown = request?.topic;
    assertTopic(topic, 'schedule a job');
    return topic;
  }

  private tell(topic: string, result: AddResult): void {
    if (this.events.observed && isStored(result)) {
      this.events.emit({ type: result.status, topic, id: result.id, dueAt: result.dueAt });
    }
  }

  private refusalOf(topic: string, { status, id, dueAt }: AddResult): DelayQueueError {
    if (status === 'exists') return new JobExistsError(topic, id, dueAt);
    return new QueueFullError(topic, this.provider.features.maxPending ?? 0);
  }

  private assertNames(topic: unknown, id: unknown, operation: string): void {
    assertTopic(topic, operation);
    assertId(id, `${operation} of topic "${topic}"`);
  }
}

interface Batch {
  readonly topic: string;
  readonly operation: string;
  readonly jobs: NewJob[];
  /** Where in the request each job stands. */
  readonly places: number[];
}

function newBatch(topic: string): Batch {
  return { topic, operation: `schedule a job on topic "${topic}"`, jobs: [], places: [] };
}

function isStored(result: AddResult): result is AddResult & ScheduleResult {
  return result.status !== 'exists' && result.status !== 'full';
}

function withoutErrors(results: readonly (ScheduleResult | DelayQueueError)[]): readonly ScheduleResult[] {
  const errors = results.filter((result) => result instanceof DelayQueueError);
  if (errors.length > 0) throw new PartialScheduleError(results, errors.length, errors[0]!);
  return results as readonly ScheduleResult[];
}
