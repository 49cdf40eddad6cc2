import { OptionReader } from '../check-options.js';
import { InvalidOptionsError } from '../delay-queue.errors.js';
import { describeValue } from '../describe-value.js';
import type { Duration } from '../duration.js';
import type { JobExtras } from '../job.js';
import { assertTopic } from '../names.js';
import type {
  DeadLetterRecord,
  DelayQueueProvider,
  NewJob,
  Page,
} from '../providers/delay-queue.provider.js';
import { withoutUndefined } from '../topic-options.js';
import { generateJobId } from './job-id.js';
import { type DeadLetter, mapPage, toDeadLetter } from './job-view.js';
import type { PayloadCodec } from './payload-codec.js';
import { BATCH, DEFAULT_PAGE, type PageOptions } from './windows.js';

export interface RequeueOptions {
  /** Until the first one is due. @default 0 */
  readonly delay?: Duration;
  /** Between the due times of two: the pace at which they come back. @default 0, all at once */
  readonly spacing?: Duration;
}

export interface RequeueResult {
  readonly requeued: number;
  /** Ids that another pending job holds; these dead letters stay. */
  readonly idsInUse: readonly string[];
}

export interface PurgeOptions {
  /** Those that died longer ago than this. */
  readonly olderThan?: Duration;
  /** All but the newest so many. */
  readonly keepNewest?: number;
}

/** The jobs of one queue that were given up. */
export class DeadLetters {
  constructor(
    private readonly provider: DelayQueueProvider,
    private readonly codec: PayloadCodec,
  ) {}

  /** Oldest first. */
  async list(topic: string, options: PageOptions = {}): Promise<Page<DeadLetter>> {
    assertTopic(topic, 'list dead letters');
    const reader = OptionReader.of(options, 'options', ['limit', 'cursor']);
    const limit = reader.whole('limit', 1) ?? DEFAULT_PAGE;
    const page = await this.provider.listDead(topic, { limit, cursor: options.cursor });
    return mapPage(page, (record) => toDeadLetter(record, this.codec));
  }

  async get(topic: string, deadLetterId: string): Promise<DeadLetter | undefined> {
    assertTopic(topic, 'get a dead letter');
    const record = await this.provider.getDead(topic, deadLetterId);
    return record && toDeadLetter(record, this.codec);
  }

  /**
   * Schedules dead letters again under their ids, with all their attempts before them, and takes them off the list.
   * A crash in between leaves one on both; requeuing it again then reports its id as in use.
   * @param which ids of dead letters; unknown ones are passed over
   */
  async requeue(
    topic: string,
    which: readonly string[],
    options: RequeueOptions = {},
  ): Promise<RequeueResult> {
    assertTopic(topic, 'requeue dead letters');
    assertIds(which);
    const pace = readPace(options);
    const records = await Promise.all(
      which.map((deadLetterId) => this.provider.getDead(topic, deadLetterId)),
    );
    return this.revive(
      topic,
      records.filter((record) => record !== undefined),
      pace,
      0,
    );
  }

  /** Like `requeue`, for every dead letter the topic has now. */
  async requeueAll(topic: string, options: RequeueOptions = {}): Promise<RequeueResult> {
    assertTopic(topic, 'requeue dead letters');
    const pace = readPace(options);
    const idsInUse: string[] = [];
    let requeued = 0;
    let cursor: string | undefined;
    do {
      const page = await this.provider.listDead(topic, { limit: BATCH, cursor });
      const revived = await this.revive(topic, page.items, pace, requeued);
      requeued += revived.requeued;
      idsInUse.push(...revived.idsInUse);
      cursor = page.cursor;
    } while (cursor !== undefined);
    return { requeued, idsInUse };
  }

  /** @returns how many of them there were */
  async remove(topic: string, which: readonly string[]): Promise<number> {
    assertTopic(topic, 'remove dead letters');
    assertIds(which);
    return this.provider.removeDead(topic, which);
  }

  /**
   * Removes dead letters by age, by count, or all of them when neither is given.
   * @returns how many were removed
   */
  async purge(topic: string, options: PurgeOptions = {}): Promise<number> {
    assertTopic(topic, 'purge dead letters');
    const reader = OptionReader.of(options, 'options', ['olderThan', 'keepNewest']);
    const olderThanMs = reader.duration('olderThan');
    const keepNewest = reader.whole('keepNewest', 0);
    const all = olderThanMs === undefined && keepNewest === undefined;
    return this.provider.purgeDead(topic, all ? { keepNewest: 0 } : { olderThanMs, keepNewest });
  }

  private async revive(
    topic: string,
    records: readonly DeadLetterRecord[],
    { delayMs, spacingMs }: Pace,
    alreadyRevived: number,
  ): Promise<RequeueResult> {
    const jobs = records.map((record, index) =>
      toRevivedJob(record, delayMs + spacingMs * (alreadyRevived + index)),
    );
    const results = await this.provider.add(topic, jobs);
    const isRevived = (index: number): boolean => results[index]!.status === 'scheduled';
    const revived = records.filter((_, index) => isRevived(index));
    await this.provider.removeDead(
      topic,
      revived.map(({ deadLetterId }) => deadLetterId),
    );
    const idsInUse = records.filter((_, index) => !isRevived(index)).map(({ id }) => id);
    return { requeued: revived.length, idsInUse };
  }
}

function assertIds(which: unknown): asserts which is readonly string[] {
  if (Array.isArray(which) && which.every((deadLetterId) => typeof deadLetterId === 'string')) return;
  throw new InvalidOptionsError(
    'which',
    `Which dead letters is ${describeValue(which)}. Give an array of their deadLetterIds, as list() returns them.`,
  );
}

interface Pace {
  readonly delayMs: number;
  readonly spacingMs: number;
}

function readPace(options: RequeueOptions): Pace {
  const reader = OptionReader.of(options, 'options', ['delay', 'spacing']);
  return { delayMs: reader.duration('delay') ?? 0, spacingMs: reader.duration('spacing') ?? 0 };
}

function toRevivedJob({ id, payload, extras }: DeadLetterRecord, delayMs: number): NewJob {
  return {
    // The id of a recurring schedule belongs to its next occurrence.
    id: extras?.recurrence === undefined ? id : generateJobId(),
    payload,
    delayMs,
    at: undefined,
    ifExists: 'reject',
    maxWaitMs: undefined,
    extras: withoutPast(extras),
  };
}

/** What its first life left behind says nothing about the second; an empty rest is none. */
function withoutPast(extras: JobExtras | undefined): JobExtras | undefined {
  if (!extras) return undefined;
  const { headers, maxAttempts, backoff, timeoutMs, expiresAfterMs, onExpiry } = extras;
  const kept = withoutUndefined({ headers, maxAttempts, backoff, timeoutMs, expiresAfterMs, onExpiry });
  return Object.keys(kept).length > 0 ? kept : undefined;
}
