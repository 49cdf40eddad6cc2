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
  RenewStatus,
  RescheduleStatus,
  SettleStatus,
  Settlement,
  StoredJob,
} from '../delay-queue.provider.js';
import { partOf } from './keys.js';
import { readPages, splitDeadLetterId } from './paging.js';
import type { ResolvedRedisOptions } from './redis.options.js';
import type { PartCounts } from './sorted-set.js';
import { type TopicContext, TopicPart } from './topic-part.js';

/** One topic of one instance: the parts it is spread over, and who listens to it. */
export class RedisTopic {
  /** Whether this instance has put it on the list of topics. */
  isRegistered = false;
  private readonly parts: readonly TopicPart[];
  private readonly wakeListeners = new Set<() => void>();
  private readonly abortListeners = new Set<(lease: LeaseRef) => void>();
  /** The part a claim asks first, another one each time. */
  private first = 0;

  constructor(
    readonly name: string,
    options: ResolvedRedisOptions,
    private readonly shared: TopicContext,
  ) {
    this.parts = Array.from(
      { length: options.partitions },
      (_, part) => new TopicPart(name, part, options, shared),
    );
  }

  /** @returns one result a job, and whether some part of the topic was new to the store */
  async add(jobs: readonly NewJob[]): Promise<{ results: readonly AddResult[]; isNew: boolean }> {
    let isNew = false;
    const results = await this.byPart(jobs, async ({ set }, some) => {
      const added = await set.add(some);
      isNew ||= added.isNew;
      return added.results;
    });
    return { results, isNew };
  }

  /** Waits until so many replicas have what was written. @throws StoreUnavailableError when too few have it in time */
  async confirm(replicas: number): Promise<void> {
    const confirm = ({ set }: TopicPart): Promise<void> =>
      this.shared.connection.confirm(`schedule on topic "${this.name}"`, set.keys.due, replicas);
    await Promise.all(this.parts.map(confirm));
  }

  cancel(requests: readonly CancelRequest[]): Promise<readonly CancelStatus[]> {
    return this.byPart(requests, ({ set }, some) => set.cancel(some));
  }

  reschedule(moves: readonly MoveRequest[]): Promise<readonly RescheduleStatus[]> {
    return this.byPart(moves, ({ set }, some) => set.reschedule(some));
  }

  async claim(request: ClaimRequest): Promise<ClaimResult> {
    const claims: Claim[] = [];
    let waitMs = Infinity;
    const { length } = this.parts;
    const first = this.first++ % length;
    for (let turn = 0; turn < length; turn++) {
      const index = (first + turn) % length;
      if (claims.length >= request.limit) {
        waitMs = 0;
        break;
      }
      const share = shareOf({ ...request, limit: request.limit - claims.length }, index, length);
      const answer = await this.parts[index]!.claim(share, this.reportSetAside);
      claims.push(...answer.claims);
      waitMs = Math.min(waitMs, answer.waitMs);
    }
    return { claims, nextWakeInMs: waitMs === Infinity ? -1 : waitMs };
  }

  /**
   * Goes out behind the claim that the same turn may make, not before it: the server then settles while the handlers of
   * that claim run.
   */
  async settle(settlements: readonly Settlement[]): Promise<readonly SettleStatus[]> {
    await new Promise((resolve) => setImmediate(resolve));
    return this.byPart(settlements, async ({ set }, some) => {
      const { statuses, dropped } = await set.settle(some);
      if (dropped > 0) {
        this.shared.context.report({ type: 'dead-letters-dropped', topic: this.name, count: dropped });
      }
      return statuses;
    });
  }

  renew(leases: readonly LeaseRef[], leaseMs: number): Promise<readonly RenewStatus[]> {
    return this.byPart(leases, ({ set }, some) => set.renew(some, leaseMs));
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
    return this.partFor(id).set.get(id);
  }

  /** In due order within each part, one part after the other. */
  find({ cursor, limit, ...query }: FindQuery): Promise<Page<StoredJob>> {
    return readPages(this.parts.length, limit, cursor, (part, count, from) =>
      this.parts[part]!.set.find({ ...query, limit, cursor: from }, count),
    );
  }

  async counts(): Promise<PartCounts> {
    const [first, ...others] = await Promise.all(this.parts.map(({ set }) => set.counts()));
    return others.reduce(
      (sum, counts) => ({
        pending: sum.pending + counts.pending,
        due: sum.due + counts.due,
        headAgeMs: Math.max(sum.headAgeMs, counts.headAgeMs),
        inFlight: sum.inFlight + counts.inFlight,
        dead: sum.dead + counts.dead,
        paused: sum.paused || counts.paused,
        settings: sum.settings + counts.settings,
      }),
      first!,
    );
  }

  async setPaused(paused: boolean): Promise<void> {
    await Promise.all(this.parts.map(({ set }) => set.setPaused(paused)));
  }

  listDead(query: { readonly limit: number; readonly cursor?: string }): Promise<Page<DeadLetterRecord>> {
    return readPages(this.parts.length, query.limit, query.cursor, (part, count, after) =>
      this.parts[part]!.set.listDead(count, after ?? '-1'),
    );
  }

  async getDead(deadLetterId: string): Promise<DeadLetterRecord | undefined> {
    const { part, number } = splitDeadLetterId(deadLetterId);
    const page = await this.parts[part]?.set.listDead(1, `=${number}`);
    return page?.items[0];
  }

  async removeDead(deadLetterIds: readonly string[]): Promise<number> {
    const ids = deadLetterIds.map(splitDeadLetterId);
    const removed = this.parts.map(({ set }, index) =>
      set.removeDead(ids.filter(({ part }) => part === index).map(({ number }) => number)),
    );
    return sumOf(await Promise.all(removed));
  }

  async purgeDead({ keepNewest, olderThanMs }: DeadLetterPurge): Promise<number> {
    const keep = keepNewest === undefined ? undefined : Math.ceil(keepNewest / this.parts.length);
    return sumOf(
      await Promise.all(this.parts.map(({ set }) => set.purgeDead({ keepNewest: keep, olderThanMs }))),
    );
  }

  readSettings(): Promise<Readonly<Record<string, string>>> {
    return this.parts[0]!.set.readSettings();
  }

  writeSetting(name: string, value: string | undefined): Promise<void> {
    return this.parts[0]!.set.writeSetting(name, value);
  }

  /** Sends each item to the part of its id, and puts the answers in the order of the items. */
  private async byPart<Item extends { readonly id: string }, Answer>(
    items: readonly Item[],
    send: (part: TopicPart, items: readonly Item[]) => Promise<readonly Answer[]>,
  ): Promise<readonly Answer[]> {
    for (const part of this.parts) await part.ready();
    if (this.parts.length === 1) return send(this.parts[0]!, items);
    const places = this.parts.map((): number[] => []);
    items.forEach(({ id }, place) => places[partOf(id, this.parts.length)]!.push(place));
    const answers: Answer[] = [];
    await Promise.all(
      this.parts.map(async (part, index) => {
        const own = places[index]!;
        const some = await send(
          part,
          own.map((place) => items[place]!),
        );
        own.forEach((place, at) => (answers[place] = some[at]!));
      }),
    );
    return answers;
  }

  private partFor(id: string): TopicPart {
    return this.parts[partOf(id, this.parts.length)]!;
  }

  private listen(): void {
    for (const part of this.parts) {
      part.listen(
        () => this.wakeListeners.forEach((listener) => listener()),
        (lease) => this.abortListeners.forEach((listener) => listener(lease)),
      );
    }
  }

  private readonly reportSetAside = (count: number): void => {
    this.shared.context.report({ type: 'jobs-set-aside', topic: this.name, count });
  };
}

/** What one of several parts may hand out: bounds over all instances are divided, at least one job a part. */
function shareOf(request: ClaimRequest, part: number, parts: number): ClaimRequest {
  const { maxInFlight, rate } = request;
  if (parts === 1 || (!maxInFlight && !rate)) return request;
  return {
    ...request,
    ...(maxInFlight && { maxInFlight: Math.max(1, Math.floor((maxInFlight + part) / parts)) }),
    ...(rate && {
      rate: {
        ...rate,
        limit: rate.limit / parts,
        burst: Math.max(1, Math.floor((rate.burst + part) / parts)),
      },
    }),
  };
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
