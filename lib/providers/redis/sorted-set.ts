import type {
  AddResult,
  CancelRequest,
  CancelStatus,
  ClaimRequest,
  DeadLetterPurge,
  DeadLetterRecord,
  DeadLetterRetention,
  DueTime,
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
  decodeClaim,
  type DecodedClaim,
  decodeJob,
  decodeLetter,
} from './replies.js';
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

/** Items of one script call; and what its arguments may weigh, so that no call blocks the server for long. */
const BATCH = 500;
const BATCH_BYTES = 1_000_000;
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
    const replies = await this.inBatches(
      jobs,
      (batch) => {
        const args: (string | number)[] = [this.context.now(), ...this.hints];
        for (const job of batch) {
          const { id, payload, extras, ifExists, maxWaitMs } = job;
          const how = `${ifExists === 'replace' ? 'r' : ifExists === 'keep' ? 'k' : 'x'}${dueArg(job)}`;
          const wait = maxWaitMs === undefined ? '' : `,${maxWaitMs}`;
          if (extras === undefined) args.push(id, how + wait, payload);
          else args.push(id, `${how}${wait}+`, payload, JSON.stringify(extras));
        }
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
    const replies = await this.inBatches(settlements, async (batch) => {
      const args: (string | number)[] = [this.context.now(), ...this.hints, maxCount, maxAgeMs];
      for (const settlement of batch) pushSettlement(args, settlement);
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

  /** @param after number of the last one before; @param limit up to 500 */
  async listDead(
    limit: number,
    after: string,
  ): Promise<{ readonly items: DeadLetterRecord[]; readonly more: boolean }> {
    const { topic, part, parts } = this.context;
    const reply = await this.run('list dead letters', 'dead-list', 'dead letters', [after, limit]);
    const [more, ...values] = asList('dead-list', reply);
    const items: DeadLetterRecord[] = [];
    for (let at = 0; at < values.length; at += 5) {
      items.push(decodeLetter(topic, values.slice(at, at + 5), parts > 1 ? `.${part}` : ''));
    }
    return { items, more: more === 1 };
  }

  async removeDead(numbers: readonly string[]): Promise<number> {
    const removed = await this.inBatches(numbers, (batch) =>
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
    const replies = await this.inBatches(items, async (batch) => {
      const args = [this.context.now(), ...before, ...batch.flatMap(argsOf)];
      return asWords(script, await this.run(script, script, keys, args), known);
    });
    return replies.flat();
  }

  /** Cuts at 500 items, or earlier where they are large; the scripts run in the order of the items. */
  private async inBatches<Item, Reply>(
    items: readonly Item[],
    send: (batch: readonly Item[]) => Promise<Reply>,
    sizeOf?: (item: Item) => number,
  ): Promise<readonly Reply[]> {
    if (items.length === 0) return [];
    if (!sizeOf && items.length <= BATCH) return [await send(items)];
    const replies: Promise<Reply>[] = [];
    let first = 0;
    let bytes = 0;
    for (let at = 0; at < items.length; at++) {
      bytes += sizeOf?.(items[at]!) ?? 0;
      if (at - first + 1 < BATCH && bytes < BATCH_BYTES && at + 1 < items.length) continue;
      replies.push(send(items.slice(first, at + 1)));
      first = at + 1;
      bytes = 0;
    }
    return Promise.all(replies);
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

function dueArg({ at, delayMs }: DueTime): string {
  return at === undefined ? `d${delayMs}` : `a${at}`;
}

function decodeAdd(reply: unknown, jobs: readonly NewJob[]): AddResult[] {
  const list = asList('add', reply);
  const [now, nowUp] = [asNumber('add', list[0]), asNumber('add', list[1])];
  const results = jobs.map(({ id, at, delayMs }): AddResult => {
    return { id, status: 'scheduled', dueAt: at ?? (delayMs === 0 ? now : nowUp + delayMs) };
  });
  for (let place = 3; place < list.length; place += 3) {
    const [status] = asWords('add', [list[place + 1]], ['kept', 'replaced', 'exists'] as const);
    const index = asNumber('add', list[place]);
    results[index] = { id: jobs[index]!.id, status: status!, dueAt: asNumber('add', list[place + 2]) };
  }
  return results;
}

function pushSettlement(args: (string | number)[], settlement: Settlement): void {
  const { id, token } = settlement;
  switch (settlement.outcome) {
    case 'complete':
      return void args.push(id, token, 'c');
    case 'release':
      return void args.push(id, token, 'l');
    case 'retry':
    case 'dead-letter': {
      const outcome = settlement.outcome === 'retry' ? `r${settlement.delayMs}` : 'd';
      if (settlement.extras === undefined) args.push(id, token, outcome);
      else args.push(id, token, `${outcome}+`, JSON.stringify(settlement.extras));
      return;
    }
    default:
      settlement satisfies never;
  }
}
