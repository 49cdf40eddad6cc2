import type {
  AddResult,
  CancelRequest,
  CancelStatus,
  ClaimRequest,
  DeadLetterPurge,
  DeadLetterRecord,
  DeadLetterRetention,
  FindQuery,
  LeaseRef,
  MoveRequest,
  NewJob,
  Page,
  RenewStatus,
  RescheduleStatus,
  SettleStatus,
  Settlement,
  StoredJob,
} from '../delay-queue.provider.js';
import type { Connection, Repeat } from './connection.js';
import type { TopicKeys } from './keys.js';
import {
  asList,
  asNumber,
  asText,
  asWords,
  decodeAdd,
  decodeClaim,
  type DecodedClaim,
  decodeJob,
  decodeLetter,
} from './replies.js';
import { inBatches } from './batches.js';
import { dueArg, howArg, settlementArgs } from './requests.js';
import { ScriptReplyError } from './script-reply.error.js';
import type { ScriptName } from './scripts.js';

/** What the parts of a topic have in common. */
export interface PartContext {
  readonly connection: Connection;
  readonly topic: string;
  /** Names this instance among those that watch a head. */
  readonly instance: string;
  readonly publish: string;
  readonly deadLetters: DeadLetterRetention;
  readonly part: number;
  readonly parts: number;
  /** '' for the server's clock, else epoch ms. */
  readonly now: () => number | '';
}

/** What `counts` finds in one part; the age of the head in ms. */
export interface PartCounts {
  readonly pending: number;
  readonly due: number;
  readonly headAgeMs: number;
  readonly inFlight: number;
  readonly dead: number;
  readonly paused: boolean;
  readonly settings: number;
}

/** Of records handed out by one claim; see claim.lua. */
const CLAIM_BYTES = 8_000_000;

/**
 * One topic, or one part of it, kept by the strategy `sorted-set`: one method for each script. Batches are cut here, and
 * all cuts of a batch are on their way at once.
 */
export class SortedSet {
  private readonly hints: readonly [string, string];

  constructor(
    readonly keys: TopicKeys,
    private readonly context: PartContext,
  ) {
    this.hints = [context.publish, context.connection.keyPrefix + keys.hints];
  }

  /** @returns one result a job, and whether the topic was new to the store */
  async add(jobs: readonly NewJob[]): Promise<{ readonly results: AddResult[]; readonly isNew: boolean }> {
    const replies = await inBatches(
      jobs,
      (batch) => {
        const hows: string[] = [];
        const payloads: string[] = [];
        const extras: string[] = [];
        const args: (string | number)[] = [this.context.now(), ...this.hints, batch.length];
        for (const job of batch) {
          args.push(job.id);
          hows.push(howArg(job));
          payloads.push(job.payload);
          if (job.extras !== undefined) extras.push(JSON.stringify(job.extras));
        }
        args.push(...hows, ...payloads, ...extras);
        return this.run('schedule', 'add', 'due jobs leases meta detached', args).then((reply) => ({
          results: decodeAdd(reply, batch),
          isNew: (reply as unknown[])[2] === 1,
        }));
      },
      (job) => job.payload.length,
    );
    return { results: replies.flatMap(({ results }) => results), isNew: replies.some(({ isNew }) => isNew) };
  }

  async cancel(requests: readonly CancelRequest[]): Promise<readonly CancelStatus[]> {
    const words = ['cancelled', 'in-flight', 'unknown'] as const;
    return this.words(
      'cancel',
      'due jobs leases meta detached',
      requests,
      words,
      this.hints,
      ({ id, abort }) => [id, abort ? '1' : '0'],
    );
  }

  async reschedule(moves: readonly MoveRequest[]): Promise<readonly RescheduleStatus[]> {
    const words = ['rescheduled', 'in-flight', 'unknown'] as const;
    return this.words('reschedule', 'due jobs leases meta detached', moves, words, this.hints, (move) => [
      move.id,
      dueArg(move),
    ]);
  }

  async renew(leases: readonly LeaseRef[], leaseMs: number): Promise<readonly RenewStatus[]> {
    const words = ['renewed', 'abort', 'lease-lost'] as const;
    return this.words(
      'renew',
      'due leases meta',
      leases,
      words,
      [...this.hints, leaseMs],
      ({ id, token }) => [id, token],
    );
  }

  /** @param limit up to 500 */
  async claim({ leaseMs, maxInFlight, rate }: ClaimRequest, limit: number): Promise<DecodedClaim> {
    const { now, instance, part, parts } = this.context;
    const rateArg = rate ? `${rate.limit},${rate.perMs},${rate.burst}` : '';
    const args = [
      now(),
      leaseMs,
      limit,
      maxInFlight ?? '',
      rateArg,
      instance,
      ...this.hints,
      CLAIM_BYTES,
      part,
      parts,
    ];
    const keys = 'due jobs leases meta detached dead letters';
    return decodeClaim(await this.run('claim', 'claim', keys, args, 'never'), parts);
  }

  /** @returns one status a settlement, and how many dead letters retention dropped */
  async settle(
    settlements: readonly Settlement[],
  ): Promise<{ readonly statuses: SettleStatus[]; readonly dropped: number }> {
    const { maxCount, maxAgeMs } = this.context.deadLetters;
    const replies = await inBatches(settlements, async (batch) => {
      const before = [this.context.now(), ...this.hints, maxCount, maxAgeMs, batch.length];
      const args = [...before, ...settlementArgs(batch)];
      const keys = 'due jobs leases meta detached dead letters';
      const [dropped, ...lost] = asList('settle', await this.run('settle', 'settle', keys, args));
      const statuses = batch.map((): SettleStatus => 'settled');
      for (const index of lost) statuses[asNumber('settle', index)] = 'lease-lost';
      return { statuses, dropped: asNumber('settle', dropped) };
    });
    return {
      statuses: replies.flatMap(({ statuses }) => statuses),
      dropped: replies.reduce((sum, { dropped }) => sum + dropped, 0),
    };
  }

  async get(id: string): Promise<StoredJob | undefined> {
    const reply = asList(
      'get',
      await this.run('get a job', 'get', 'due jobs leases', [this.context.now(), id]),
    );
    return reply.length === 0 ? undefined : decodeJob('get', this.context.topic, reply);
  }

  /** @param limit up to 500 */
  async find({ state, dueFrom, dueTo, cursor }: FindQuery, limit: number): Promise<Page<StoredJob>> {
    const [after = '', hex = ''] = cursor?.split(' ') ?? [];
    const window = [dueFrom ?? '-inf', dueTo ?? '+inf'].map((end) =>
      end === Infinity ? '+inf' : end === -Infinity ? '-inf' : end,
    );
    const args = [this.context.now(), state, ...window, limit, after, hex];
    const [next, ...values] = asList('find', await this.run('find jobs', 'find', 'due jobs leases', args));
    const items: StoredJob[] = [];
    for (let at = 0; at < values.length; at += 4) {
      items.push(decodeJob('find', this.context.topic, values.slice(at, at + 4)));
    }
    return { items, cursor: asText('find', next) || undefined };
  }

  async counts(): Promise<PartCounts> {
    const keys = 'due leases meta dead settings';
    const reply = asList('counts', await this.run('count jobs', 'counts', keys, [this.context.now()]));
    const [pending, due, headAgeUs, inFlight, dead, paused, settings] = reply.map((n) =>
      asNumber('counts', n),
    );
    if (settings === undefined) throw new ScriptReplyError('counts', reply);
    return {
      pending: pending!,
      due: due!,
      headAgeMs: headAgeUs! / 1_000,
      inFlight: inFlight!,
      dead: dead!,
      paused: paused === 1,
      settings,
    };
  }

  async setPaused(paused: boolean): Promise<void> {
    const args = [this.context.now(), ...this.hints, paused ? '1' : '0'];
    await this.run(paused ? 'pause' : 'resume', 'pause', 'due meta', args);
  }

  /** @param after number of the last one before, or `=number` for that one; @param limit up to 500 */
  async listDead(limit: number, after: string): Promise<Page<DeadLetterRecord>> {
    const { topic, part, parts } = this.context;
    const reply = await this.run('list dead letters', 'dead-list', 'dead letters', [after, limit]);
    const [more, ...values] = asList('dead-list', reply);
    const items: DeadLetterRecord[] = [];
    for (let at = 0; at < values.length; at += 5) {
      items.push(decodeLetter(topic, values.slice(at, at + 5), parts > 1 ? `.${part}` : ''));
    }
    return { items, cursor: more === 1 ? asText('dead-list', values.at(-5)) : undefined };
  }

  async removeDead(numbers: readonly string[]): Promise<number> {
    const removed = await inBatches(numbers, (batch) =>
      this.run('remove dead letters', 'dead-remove', 'dead letters', [this.context.now(), '', '', ...batch]),
    );
    return removed.reduce((sum: number, count) => sum + asNumber('dead-remove', count), 0);
  }

  async purgeDead({ keepNewest, olderThanMs }: DeadLetterPurge): Promise<number> {
    const args = [this.context.now(), keepNewest ?? '', olderThanMs ?? ''];
    return asNumber('dead-remove', await this.run('purge dead letters', 'dead-remove', 'dead letters', args));
  }

  async readSettings(): Promise<Readonly<Record<string, string>>> {
    const values = asList('settings', await this.run('read settings', 'settings', 'settings', ['', '', '']));
    const entries: [string, string][] = [];
    for (let at = 0; at < values.length; at += 2) {
      entries.push([asText('settings', values[at]), asText('settings', values[at + 1])]);
    }
    return Object.fromEntries(entries);
  }

  async writeSetting(name: string, value: string | undefined): Promise<void> {
    const args = value === undefined ? ['remove', name, ''] : ['set', name, value];
    await this.run('write a setting', 'settings', 'settings', args);
  }

  /** A script that answers one word an item. */
  private async words<Item, Word extends string>(
    script: ScriptName,
    keys: string,
    items: readonly Item[],
    known: readonly Word[],
    before: readonly (string | number)[],
    argsOf: (item: Item) => readonly (string | number)[],
  ): Promise<readonly Word[]> {
    const replies = await inBatches(items, async (batch) => {
      const args = [this.context.now(), ...before, ...batch.flatMap(argsOf)];
      return asWords(script, await this.run(script, script, keys, args), known);
    });
    return replies.flat();
  }

  private run(
    operation: string,
    script: ScriptName,
    keys: string,
    args: readonly (string | number)[],
    repeat?: Repeat,
  ): Promise<unknown> {
    const names = keys.split(' ').map((key) => this.keys[key as keyof TopicKeys]);
    return this.context.connection.run(
      `${operation} on topic "${this.context.topic}"`,
      script,
      names,
      args,
      repeat,
    );
  }
}
