import type { Claim, ClaimRequest, LeaseRef, ProviderContext } from '../delay-queue.provider.js';
import type { Connection } from './connection.js';
import { HeadWatch } from './head-watch.js';
import type { Hint, HintChannel } from './hint-channel.js';
import { topicKeys } from './keys.js';
import type { ResolvedRedisOptions } from './redis.options.js';
import { SortedSet } from './sorted-set.js';

/** Jobs of one script call. */
const BATCH = 500;

/** How long the first claim waits for the subscription, which saves it a second one. */
const SUBSCRIBE_MS = 100;

/** What the topics of one instance share. */
export interface TopicContext {
  readonly context: ProviderContext;
  readonly connection: Connection;
  readonly hints: HintChannel;
  readonly instance: string;
}

export interface PartClaim {
  readonly claims: readonly Claim[];
  /** Until another claim can succeed, ms; Infinity when only a hint can tell. */
  readonly waitMs: number;
}

/** A topic, or the part of it that lies in one slot of a cluster: its store, and what this instance knows of its head. */
export class TopicPart {
  readonly set: SortedSet;
  private readonly watch: HeadWatch | undefined;
  private listening = false;
  /** Settles once hints come, or cannot be waited for. */
  private subscribed: Promise<void> | undefined;
  /** A claim was answered before hints came: what it foretold may be out of date. */
  private wasDeaf = false;

  constructor(
    topic: string,
    part: number,
    { prefix, partitions, time, recheckMs }: ResolvedRedisOptions,
    private readonly shared: TopicContext,
  ) {
    const { context, connection, hints, instance } = shared;
    this.set = new SortedSet(topicKeys(prefix, context.queueName, topic, part, partitions), {
      connection,
      topic,
      instance,
      publish: hints.publish,
      deadLetters: { ...context.deadLetters, maxCount: Math.ceil(context.deadLetters.maxCount / partitions) },
      part,
      parts: partitions,
      now: time === 'server' ? () => '' : () => context.clock.wallNow(),
    });
    // What is known of the head is known in real time; a clock that tests move has no part in it.
    this.watch = time === 'server' ? new HeadWatch(recheckMs - 100) : undefined;
  }

  /** @param setAside told how many jobs could not be read */
  async claim(request: ClaimRequest, setAside: (count: number) => void): Promise<PartClaim> {
    // Where others decide too what can be claimed, nothing but the store knows.
    const watch = request.rate || request.maxInFlight ? undefined : this.watch;
    const knownMs = watch?.knownWait();
    if (watch && knownMs !== undefined) {
      watch.tell(knownMs);
      return { claims: [], waitMs: knownMs };
    }
    await this.ready();
    const claims: Claim[] = [];
    for (;;) {
      const limit = Math.min(BATCH, request.limit - claims.length);
      const before = watch?.learned ?? 0;
      const answered = (watch ?? this.watch)?.ask();
      const answer = await this.set.claim(request, limit);
      answered?.();
      claims.push(...answer.claims);
      if (answer.setAside > 0) setAside(answer.setAside);
      const { waitMs } = answer;
      if (waitMs === 0 && answer.claims.length > 0 && claims.length < request.limit) continue;
      if (!watch || waitMs === 0) return { claims, waitMs };
      // A hint that came meanwhile may be newer than the answer, or older: only the store can tell.
      if (watch.learned !== before) watch.forget();
      else if (this.listening) watch.learn(waitMs, answer.isWatcher);
      const restMs = this.listening ? watch.wait(waitMs) : waitMs;
      if (watch.learned === before + 1) watch.tell(restMs);
      return { claims, waitMs: restMs };
    }
  }

  /** Resolves once hints come, if someone has just begun to listen: what is done next may cause one. */
  async ready(): Promise<void> {
    if (this.subscribed) await this.subscribed;
  }

  /** Once, and for as long as the provider is open: whoever listened to a topic will again. */
  listen(onWake: () => void, onAbort: (lease: LeaseRef) => void): void {
    if (this.listening) return;
    this.listening = true;
    let proceed = (): void => undefined;
    const patience = setTimeout(() => {
      this.wasDeaf = true;
      proceed();
    }, SUBSCRIBE_MS);
    // A provider that closes meanwhile has nothing left to wait for.
    patience.unref();
    this.subscribed = new Promise((resolve) => {
      proceed = () => {
        clearTimeout(patience);
        this.subscribed = undefined;
        resolve();
      };
    });
    this.shared.hints.listen(this.set.keys.hints, {
      onHint: (hint) => this.hear(hint, onWake, onAbort),
      onSubscribed: (again) => {
        proceed();
        if (!again && !this.wasDeaf) return;
        this.wasDeaf = false;
        this.watch?.forget();
        onWake();
      },
      onClosed: () => proceed(),
    });
  }

  private hear(hint: Hint, onWake: () => void, onAbort: (lease: LeaseRef) => void): void {
    if (hint.type === 'abort') return onAbort(hint.lease);
    if (hint.watcher === '') this.watch?.forget();
    else this.watch?.learn(hint.inMs, hint.watcher === this.shared.instance);
    if (!this.watch || this.watch.isNews()) onWake();
  }
}
