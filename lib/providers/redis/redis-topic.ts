import type {
  AddResult,
  CancelRequest,
  CancelStatus,
  Claim,
  ClaimRequest,
  ClaimResult,
  DeadLetterPurge,
  DeadLetterRecord,
  FindQuery,
  LeaseRef,
  MoveRequest,
  NewJob,
  Page,
  ProviderContext,
  RenewStatus,
  RescheduleStatus,
  SettleStatus,
  Settlement,
  StoredJob,
} from '../delay-queue.provider.js';
import type { Connection } from './connection.js';
import { HeadWatch } from './head-watch.js';
import type { Hint, HintChannel } from './hint-channel.js';
import { topicKeys } from './keys.js';
import type { ResolvedRedisOptions } from './redis.options.js';
import { type PartCounts, SortedSet } from './sorted-set.js';

/** Jobs of one script call. */
const BATCH = 500;

/** How long the first claim waits for the subscription, which saves it a second one. */
const SUBSCRIBE_MS = 100;

export interface TopicContext {
  readonly context: ProviderContext;
  readonly connection: Connection;
  readonly hints: HintChannel;
  readonly instance: string;
}

/** One topic of one instance: its store, who listens to it, and what is known of its head. */
export class RedisTopic {
  /** Whether this instance has put it on the list of topics. */
  isRegistered = false;
  private readonly set: SortedSet;
  private readonly watch: HeadWatch | undefined;
  private readonly wakeListeners = new Set<() => void>();
  private readonly abortListeners = new Set<(lease: LeaseRef) => void>();
  private listening = false;
  /** Settles once hints come, or cannot be waited for. */
  private subscribed: Promise<void> | undefined;
  /** A claim was answered before hints came: what it foretold may be out of date. */
  private wasDeaf = false;

  constructor(
    readonly name: string,
    options: ResolvedRedisOptions,
    private readonly shared: TopicContext,
  ) {
    const { context, connection, hints, instance } = shared;
    const byServer = options.time === 'server';
    this.set = new SortedSet(topicKeys(options.prefix, context.queueName, name), {
      connection,
      topic: name,
      instance,
      publish: hints.publish,
      deadLetters: context.deadLetters,
      part: 0,
      parts: 1,
      now: byServer ? () => '' : () => context.clock.wallNow(),
    });
    // What is known of the head is known in real time; a clock that tests move has no part in it.
    this.watch = byServer ? new HeadWatch(options.recheckMs - 100) : undefined;
  }

  add(jobs: readonly NewJob[]): Promise<{ readonly results: readonly AddResult[]; readonly isNew: boolean }> {
    return this.set.add(jobs);
  }

  cancel(requests: readonly CancelRequest[]): Promise<readonly CancelStatus[]> {
    return this.set.cancel(requests);
  }

  reschedule(moves: readonly MoveRequest[]): Promise<readonly RescheduleStatus[]> {
    return this.set.reschedule(moves);
  }

  async claim(request: ClaimRequest): Promise<ClaimResult> {
    // Where others decide too what can be claimed, nothing but the store knows.
    const watch = request.rate || request.maxInFlight ? undefined : this.watch;
    const known = watch?.answer();
    if (known) return known;
    if (this.subscribed) await this.subscribed;
    const claims: Claim[] = [];
    for (;;) {
      const limit = Math.min(BATCH, request.limit - claims.length);
      const { claims: more, waitMs, isWatcher, setAside } = await this.set.claim(request, limit);
      if (more.length > 0) claims.push(...more);
      if (setAside > 0) this.reportSetAside(setAside);
      if (waitMs === 0 && more.length > 0 && claims.length < request.limit) continue;
      if (!watch || waitMs === 0) return { claims, nextWakeInMs: waitMs === Infinity ? -1 : waitMs };
      if (this.listening) watch.learn(waitMs, isWatcher);
      else watch.forget();
      const restMs = watch.wait(waitMs);
      return { claims, nextWakeInMs: restMs === Infinity ? -1 : restMs };
    }
  }

  async settle(settlements: readonly Settlement[]): Promise<readonly SettleStatus[]> {
    const { statuses, dropped } = await this.set.settle(settlements);
    if (dropped > 0) {
      this.shared.context.report({ type: 'dead-letters-dropped', topic: this.name, count: dropped });
    }
    return statuses;
  }

  renew(leases: readonly LeaseRef[], leaseMs: number): Promise<readonly RenewStatus[]> {
    return this.set.renew(leases, leaseMs);
  }

  onWake(listener: () => void): () => void {
    this.listen();
    this.wakeListeners.add(listener);
    return () => void this.wakeListeners.delete(listener);
  }

  onAbort(listener: (lease: LeaseRef) => void): () => void {
    this.listen();
    this.abortListeners.add(listener);
    return () => void this.abortListeners.delete(listener);
  }

  get(id: string): Promise<StoredJob | undefined> {
    return this.set.get(id);
  }

  async find({ cursor, limit, ...query }: FindQuery): Promise<Page<StoredJob>> {
    const items: StoredJob[] = [];
    let next = cursor;
    do {
      const page = await this.set.find(
        { ...query, limit, cursor: next },
        Math.min(BATCH, limit - items.length),
      );
      items.push(...page.items);
      next = page.cursor;
    } while (next !== undefined && items.length < limit);
    return { items, cursor: next };
  }

  counts(): Promise<PartCounts> {
    return this.set.counts();
  }

  setPaused(paused: boolean): Promise<void> {
    return this.set.setPaused(paused);
  }

  async listDead({
    limit,
    cursor,
  }: {
    readonly limit: number;
    readonly cursor?: string;
  }): Promise<Page<DeadLetterRecord>> {
    const items: DeadLetterRecord[] = [];
    let after = cursor ?? '-1';
    for (;;) {
      const { items: some, more } = await this.set.listDead(Math.min(BATCH, limit - items.length), after);
      items.push(...some);
      after = some.at(-1)?.deadLetterId ?? after;
      if (!more) return { items, cursor: undefined };
      if (items.length >= limit) return { items, cursor: after };
    }
  }

  async getDead(deadLetterId: string): Promise<DeadLetterRecord | undefined> {
    const { items } = await this.set.listDead(1, `=${deadLetterId}`);
    return items[0];
  }

  removeDead(deadLetterIds: readonly string[]): Promise<number> {
    return this.set.removeDead(deadLetterIds);
  }

  purgeDead(purge: DeadLetterPurge): Promise<number> {
    return this.set.purgeDead(purge);
  }

  readSettings(): Promise<Readonly<Record<string, string>>> {
    return this.set.readSettings();
  }

  writeSetting(name: string, value: string | undefined): Promise<void> {
    return this.set.writeSetting(name, value);
  }

  /** Once, and for as long as the provider is open: whoever listened to a topic will again. */
  private listen(): void {
    if (this.listening) return;
    this.listening = true;
    let proceed = (): void => undefined;
    const patience = setTimeout(() => {
      this.wasDeaf = true;
      proceed();
    }, SUBSCRIBE_MS);
    this.subscribed = new Promise((resolve) => {
      proceed = () => {
        clearTimeout(patience);
        this.subscribed = undefined;
        resolve();
      };
    });
    this.shared.hints.listen(this.set.keys.hints, {
      onHint: (hint) => this.hear(hint),
      onSubscribed: (again) => {
        proceed();
        if (!again && !this.wasDeaf) return;
        this.wasDeaf = false;
        this.watch?.forget();
        this.wake();
      },
      onClosed: () => proceed(),
    });
  }

  private hear(hint: Hint): void {
    if (hint.type === 'abort') {
      for (const listener of this.abortListeners) listener(hint.lease);
      return;
    }
    if (hint.watcher === '') this.watch?.forget();
    else this.watch?.learn(hint.inMs, hint.watcher === this.shared.instance);
    this.wake();
  }

  private wake(): void {
    for (const listener of this.wakeListeners) listener();
  }

  private reportSetAside(count: number): void {
    const notice = { type: 'jobs-set-aside', topic: this.name, count } as const;
    this.shared.context.report(notice as never);
  }
}
