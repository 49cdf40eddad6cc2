import { OptionReader } from '../../check-options.js';
import { ProviderClosedError } from '../../delay-queue.errors.js';
import type {
  AddResult,
  CancelRequest,
  CancelStatus,
  ClaimRequest,
  ClaimResult,
  DeadLetterPurge,
  DeadLetterRecord,
  DelayQueueProvider,
  FindQuery,
  LeaseRef,
  MoveRequest,
  NewJob,
  Page,
  ProviderContext,
  ProviderFeatures,
  RenewStatus,
  RescheduleStatus,
  SettleStatus,
  Settlement,
  StoredJob,
  TopicCounts,
} from '../delay-queue.provider.js';
import { countJobs, describeJob, findJobs } from './inspect.js';
import { MemoryTopic } from './memory-topic.js';

export interface MemoryProviderOptions {
  /**
   * The most jobs that may wait at once, over all topics. Past it `schedule` rejects with `QueueFullError`.
   * @default Infinity: bounded by the process's memory alone
   */
  readonly maxPending?: number;
}

/**
 * Keeps jobs in this process: fast, exact, and gone with the process. It has no timer of its own; whoever claims is
 * told how long to sleep.
 */
export class MemoryProvider implements DelayQueueProvider {
  readonly features: ProviderFeatures;
  private readonly byName = new Map<string, MemoryTopic>();
  private readonly maxPending: number;
  private context: ProviderContext | undefined;
  private unwatchWall: (() => void) | undefined;

  /** @throws InvalidOptionsError */
  constructor(options: MemoryProviderOptions = {}) {
    const reader = OptionReader.of(options, 'provider', ['maxPending']);
    const maxPending = options.maxPending === Infinity ? undefined : reader.whole('maxPending', 1);
    this.maxPending = maxPending ?? Infinity;
    this.features = { durable: false, fifoWithinDueTime: true, maxPending, recheckMs: undefined };
  }

  async open(context: ProviderContext): Promise<void> {
    this.context = context;
  }

  async close(): Promise<void> {
    this.context = undefined;
    this.unwatchWall?.();
    this.unwatchWall = undefined;
    this.byName.clear();
  }

  async add(topic: string, jobs: readonly NewJob[]): Promise<readonly AddResult[]> {
    if (!this.unwatchWall && jobs.some(({ at }) => at !== undefined)) this.watchWall();
    return this.change('schedule', topic, (stored) => stored.add(jobs, this.room()));
  }

  async cancel(topic: string, requests: readonly CancelRequest[]): Promise<readonly CancelStatus[]> {
    return this.change('cancel', topic, (stored) => requests.map((request) => stored.cancel(request)));
  }

  async reschedule(topic: string, moves: readonly MoveRequest[]): Promise<readonly RescheduleStatus[]> {
    if (!this.unwatchWall && moves.some(({ at }) => at !== undefined)) this.watchWall();
    return this.change('reschedule', topic, (stored) => moves.map((move) => stored.reschedule(move)));
  }

  async claim(topic: string, request: ClaimRequest): Promise<ClaimResult> {
    return this.topic('claim', topic).claim(request);
  }

  async settle(topic: string, settlements: readonly Settlement[]): Promise<readonly SettleStatus[]> {
    return this.change('settle', topic, (stored) => {
      stored.uncap();
      return settlements.map((settlement) => stored.settle(settlement));
    });
  }

  async renew(topic: string, leases: readonly LeaseRef[], leaseMs: number): Promise<readonly RenewStatus[]> {
    return this.change('renew', topic, (stored) => leases.map((lease) => stored.renew(lease, leaseMs)));
  }

  onWake(topic: string, listener: () => void): () => void {
    return this.topic('listen', topic).wake.subscribe(listener);
  }

  onAbort(topic: string, listener: (lease: LeaseRef) => void): () => void {
    const { abortListeners } = this.topic('listen', topic);
    abortListeners.add(listener);
    return () => void abortListeners.delete(listener);
  }

  async get(topic: string, id: string): Promise<StoredJob | undefined> {
    const stored = this.peek('get', topic);
    const slot = stored.slotOf(id);
    return slot === undefined ? undefined : describeJob(stored, slot, this.opened('get').clock);
  }

  async find(topic: string, query: FindQuery): Promise<Page<StoredJob>> {
    return findJobs(this.peek('find', topic), query, this.opened('find').clock);
  }

  async counts(topic: string): Promise<TopicCounts> {
    return countJobs(this.peek('count', topic), this.opened('count').clock);
  }

  async topics(): Promise<readonly string[]> {
    this.opened('list topics');
    return [...this.byName.values()].filter((stored) => !stored.isEmpty()).map((stored) => stored.name);
  }

  async setPaused(topic: string, paused: boolean): Promise<void> {
    this.change('pause', topic, (stored) => (stored.paused = paused));
  }

  async listDead(
    topic: string,
    { limit, cursor }: { limit: number; cursor?: string },
  ): Promise<Page<DeadLetterRecord>> {
    return this.peek('list dead letters', topic).dead.list(limit, cursor);
  }

  async getDead(topic: string, deadLetterId: string): Promise<DeadLetterRecord | undefined> {
    return this.peek('get a dead letter', topic).dead.get(deadLetterId);
  }

  async removeDead(topic: string, deadLetterIds: readonly string[]): Promise<number> {
    return this.peek('remove dead letters', topic).dead.remove(deadLetterIds);
  }

  async purgeDead(topic: string, purge: DeadLetterPurge): Promise<number> {
    return this.peek('purge dead letters', topic).dead.purge(purge);
  }

  async readSettings(topic: string): Promise<Readonly<Record<string, string>>> {
    return Object.fromEntries(this.peek('read settings', topic).settings);
  }

  async writeSetting(topic: string, name: string, value: string | undefined): Promise<void> {
    const { settings } = this.topic('write a setting', topic);
    if (value === undefined) settings.delete(name);
    else settings.set(name, value);
  }

  /** Jobs given an instant follow the wall clock; those who sleep for them must hear of a step. */
  private watchWall(): void {
    this.unwatchWall = this.opened('schedule').clock.onWallStep(() => {
      for (const stored of this.byName.values()) stored.announce();
    });
  }

  private change<Result>(operation: string, topic: string, act: (stored: MemoryTopic) => Result): Result {
    const stored = this.topic(operation, topic);
    const result = act(stored);
    stored.announce();
    return result;
  }

  private topic(operation: string, name: string): MemoryTopic {
    const stored = this.peek(operation, name);
    this.byName.set(name, stored);
    return stored;
  }

  /** Of a topic that nobody has used there is nothing to keep: reading must not make one. */
  private peek(operation: string, name: string): MemoryTopic {
    const { clock, deadLetters, report } = this.opened(operation);
    const tell = (count: number): void => report({ type: 'dead-letters-dropped', topic: name, count });
    return this.byName.get(name) ?? new MemoryTopic(name, clock, deadLetters, tell);
  }

  private opened(operation: string): ProviderContext {
    if (!this.context) throw new ProviderClosedError(operation);
    return this.context;
  }

  /** How many jobs more may wait. */
  private room(): number {
    if (this.maxPending === Infinity) return Infinity;
    let pending = 0;
    for (const stored of this.byName.values()) pending += stored.countPending();
    return this.maxPending - pending;
  }
}
