import { randomBytes } from 'node:crypto';
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
import { checkServer } from './check-server.js';
import { Connection } from './connection.js';
import { HintChannel } from './hint-channel.js';
import { topicsKey } from './keys.js';
import {
  type RedisProviderOptions,
  type ResolvedRedisOptions,
  resolveRedisOptions,
} from './redis.options.js';
import { RedisTopic } from './redis-topic.js';
import { asList, asText } from './replies.js';

/** What is there while the provider is open. */
interface Opened {
  readonly context: ProviderContext;
  readonly connection: Connection;
  readonly hints: HintChannel;
  readonly byName: Map<string, RedisTopic>;
}

/**
 * Keeps jobs in Redis 7 or later: durable as Redis is, shared by all instances that use the same prefix and queue. Due
 * times are those of the server's clock. Every operation is one script, and atomic for each batch of 500.
 */
export class RedisProvider implements DelayQueueProvider {
  readonly features: ProviderFeatures;
  private readonly options: ResolvedRedisOptions;
  private readonly instance = randomBytes(6).toString('base64url');
  private opened: Opened | undefined;
  private closing: Promise<void> | undefined;

  /** @throws InvalidOptionsError */
  constructor(options: RedisProviderOptions = {}) {
    this.options = resolveRedisOptions(options);
    this.features = {
      durable: true,
      fifoWithinDueTime: this.options.partitions === 1,
      maxPending: undefined,
      recheckMs: this.options.recheckMs,
    };
  }

  /** @throws StoreUnavailableError if Redis does not answer within `commandTimeout`, or refuses */
  async open(context: ProviderContext): Promise<void> {
    const connection = await Connection.open(this.options, context.report);
    this.opened = { context, connection, hints: new HintChannel(connection), byName: new Map() };
    this.closing = undefined;
    const warning = await checkServer(connection);
    // Not part of the contract's notices: only a store of this kind has such things to say.
    if (warning !== undefined) context.report({ type: 'provider-warning', message: warning });
  }

  close(): Promise<void> {
    const { opened } = this;
    this.opened = undefined;
    if (opened) {
      opened.hints.close();
      this.closing = opened.connection.close();
    }
    return this.closing ?? Promise.resolve();
  }

  async add(topic: string, jobs: readonly NewJob[]): Promise<readonly AddResult[]> {
    const stored = this.topic('schedule', topic);
    if (jobs.length === 0) return [];
    const registered = stored.isRegistered ? undefined : this.register(stored);
    const [{ results, isNew }] = await Promise.all([stored.add(jobs), registered]);
    // Someone emptied the store since this instance registered the topic.
    if (isNew && !registered) await this.register(stored);
    // Every topic that `add` touched is on one node of a cluster, unless it is spread over parts.
    if (this.options.replicas > 0) await stored.confirm(this.options.replicas);
    return results;
  }

  async cancel(topic: string, requests: readonly CancelRequest[]): Promise<readonly CancelStatus[]> {
    return this.topic('cancel', topic).cancel(requests);
  }

  async reschedule(topic: string, moves: readonly MoveRequest[]): Promise<readonly RescheduleStatus[]> {
    return this.topic('reschedule', topic).reschedule(moves);
  }

  async claim(topic: string, request: ClaimRequest): Promise<ClaimResult> {
    return this.topic('claim', topic).claim(request);
  }

  async settle(topic: string, settlements: readonly Settlement[]): Promise<readonly SettleStatus[]> {
    return this.topic('settle', topic).settle(settlements);
  }

  async renew(topic: string, leases: readonly LeaseRef[], leaseMs: number): Promise<readonly RenewStatus[]> {
    return this.topic('renew', topic).renew(leases, leaseMs);
  }

  onWake(topic: string, listener: () => void): () => void {
    return this.topic('listen', topic).onWake(listener);
  }

  onAbort(topic: string, listener: (lease: LeaseRef) => void): () => void {
    return this.topic('listen', topic).onAbort(listener);
  }

  async get(topic: string, id: string): Promise<StoredJob | undefined> {
    return this.topic('get a job', topic).get(id);
  }

  async find(topic: string, query: FindQuery): Promise<Page<StoredJob>> {
    return this.topic('find jobs', topic).find(query);
  }

  async counts(topic: string): Promise<TopicCounts> {
    const { settings: _, ...counts } = await this.topic('count jobs', topic).counts();
    return counts;
  }

  async topics(): Promise<readonly string[]> {
    const { connection, context } = this.require('list topics');
    const key = topicsKey(this.options.prefix, context.queueName);
    const names = asList('topics', await connection.run('list topics', 'topics', [key], ['']));
    const known = names.map((name) => asText('topics', name));
    const counts = await Promise.all(known.map((name) => this.topic('list topics', name).counts()));
    return known.filter((_, index) => {
      const { pending, inFlight, dead, paused, settings } = counts[index]!;
      return paused || pending + inFlight + dead + settings > 0;
    });
  }

  async setPaused(topic: string, paused: boolean): Promise<void> {
    const stored = this.topic(paused ? 'pause' : 'resume', topic);
    await Promise.all([this.register(stored), stored.setPaused(paused)]);
  }

  async listDead(
    topic: string,
    query: { readonly limit: number; readonly cursor?: string },
  ): Promise<Page<DeadLetterRecord>> {
    return this.topic('list dead letters', topic).listDead(query);
  }

  async getDead(topic: string, deadLetterId: string): Promise<DeadLetterRecord | undefined> {
    return this.topic('get a dead letter', topic).getDead(deadLetterId);
  }

  async removeDead(topic: string, deadLetterIds: readonly string[]): Promise<number> {
    return this.topic('remove dead letters', topic).removeDead(deadLetterIds);
  }

  async purgeDead(topic: string, purge: DeadLetterPurge): Promise<number> {
    return this.topic('purge dead letters', topic).purgeDead(purge);
  }

  async readSettings(topic: string): Promise<Readonly<Record<string, string>>> {
    return this.topic('read settings', topic).readSettings();
  }

  async writeSetting(topic: string, name: string, value: string | undefined): Promise<void> {
    const stored = this.topic('write a setting', topic);
    await Promise.all([value !== undefined && this.register(stored), stored.writeSetting(name, value)]);
  }

  /** Puts the topic on the list, which lies in another slot of a cluster than the topic and so cannot be kept by its scripts. */
  private async register(stored: RedisTopic): Promise<void> {
    const { connection, context } = this.require('register a topic');
    const key = topicsKey(this.options.prefix, context.queueName);
    await connection.run('register a topic', 'topics', [key], [stored.name]);
    stored.isRegistered = true;
  }

  private topic(operation: string, name: string): RedisTopic {
    const { byName, ...opened } = this.require(operation);
    let stored = byName.get(name);
    if (!stored) {
      stored = new RedisTopic(name, this.options, { ...opened, instance: this.instance });
      byName.set(name, stored);
    }
    return stored;
  }

  private require(operation: string): Opened {
    if (!this.opened) throw new ProviderClosedError(operation);
    return this.opened;
  }
}
