import { OptionReader } from '../check-options.js';
import { describeValue } from '../describe-value.js';
import { InvalidOptionsError } from '../delay-queue.errors.js';
import { DURATION_HINT, type Duration, toMs } from '../duration.js';
import type {
  DelayQueueProvider,
  JobState,
  MoveRequest,
  Page,
  StoredJob,
} from '../providers/delay-queue.provider.js';
import { type DueTimeOptions, readDueTime } from './due-time.js';

export interface PageOptions {
  /** At most so many; from 1. @default 100 */
  readonly limit?: number;
  /** From an earlier page. */
  readonly cursor?: string;
}

/** Jobs by their due time, both ends included; an end that is left out is open. */
export interface DueWindow {
  readonly dueFrom?: Date | number;
  readonly dueTo?: Date | number;
}

export interface FindOptions extends DueWindow, PageOptions {
  /** @default 'pending' */
  readonly state?: JobState;
}

/** Where a whole window goes: to one due time, or each job by the same distance. */
export type WindowMove =
  | DueTimeOptions
  | {
      /** Added to each due time; a leading minus moves them earlier: `'1h'`, `'-30m'`, `-500`. */
      readonly shift: Duration;
    };

export const DEFAULT_PAGE = 100;
/** How many are read from the store, and handed back to it, at a time. */
export const BATCH = 500;

/** Looks for jobs by their due time, and acts on all it finds. */
export class Windows {
  constructor(private readonly provider: DelayQueueProvider) {}

  async find(topic: string, options: FindOptions): Promise<Page<StoredJob>> {
    const reader = OptionReader.of(options, 'options', ['state', 'dueFrom', 'dueTo', 'limit', 'cursor']);
    return this.provider.find(topic, {
      ...readWindow(options),
      state: reader.word('state', ['pending', 'in-flight']) ?? 'pending',
      limit: reader.whole('limit', 1) ?? DEFAULT_PAGE,
      cursor: options.cursor,
    });
  }

  /** @returns how many were cancelled; those that start meanwhile are not */
  async cancel(topic: string, window: DueWindow): Promise<number> {
    OptionReader.of(window, 'window', ['dueFrom', 'dueTo']);
    let cancelled = 0;
    await this.inBatches(topic, window, async (jobs) => {
      const statuses = await this.provider.cancel(
        topic,
        jobs.map(({ id }) => ({ id, abort: false })),
      );
      cancelled += statuses.filter((status) => status === 'cancelled').length;
    });
    return cancelled;
  }

  /** @returns how many were moved; those that start meanwhile are not */
  async reschedule(topic: string, window: DueWindow, move: WindowMove): Promise<number> {
    OptionReader.of(window, 'window', ['dueFrom', 'dueTo']);
    const place = readMove(topic, move);
    let moved = 0;
    await this.inBatches(topic, window, async (jobs) => {
      const statuses = await this.provider.reschedule(topic, jobs.map(place));
      moved += statuses.filter((status) => status === 'rescheduled').length;
    });
    return moved;
  }

  /** Reads the whole window before it acts: a job moved within it would be found, and moved, again. */
  private async inBatches(
    topic: string,
    window: DueWindow,
    act: (jobs: readonly Found[]) => Promise<void>,
  ): Promise<void> {
    const found: Found[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.provider.find(topic, {
        ...readWindow(window),
        state: 'pending',
        limit: BATCH,
        cursor,
      });
      for (const { id, dueAt } of page.items) found.push({ id, dueAt });
      cursor = page.cursor;
    } while (cursor !== undefined);
    for (let start = 0; start < found.length; start += BATCH) await act(found.slice(start, start + BATCH));
  }
}

type Found = Pick<StoredJob, 'id' | 'dueAt'>;

function readWindow({ dueFrom, dueTo }: DueWindow): { dueFrom?: number; dueTo?: number } {
  return {
    ...(dueFrom !== undefined && { dueFrom: readEnd('dueFrom', dueFrom) }),
    ...(dueTo !== undefined && { dueTo: readEnd('dueTo', dueTo) }),
  };
}

function readEnd(name: string, end: Date | number): number {
  const epochMs = end instanceof Date ? end.getTime() : end;
  if (typeof epochMs === 'number' && !Number.isNaN(epochMs)) return epochMs;
  throw new InvalidOptionsError(
    name,
    `Option ${name} is ${describeValue(end)}. Give a valid Date or epoch milliseconds.`,
  );
}

function readMove(topic: string, move: WindowMove): (job: Found) => MoveRequest {
  const isShift = typeof move === 'object' && move !== null && 'shift' in move;
  if (isShift) {
    OptionReader.of(move, 'move', ['shift']);
    const shiftMs = readShift(move.shift);
    return ({ id, dueAt }) => ({ id, delayMs: 0, at: Math.max(0, dueAt + shiftMs) });
  }
  OptionReader.of(move, 'move', ['delay', 'at']);
  const due = readDueTime(move, `reschedule jobs of topic "${topic}"`);
  return ({ id }) => ({ id, ...due });
}

function readShift(shift: unknown): number {
  const isBack = typeof shift === 'number' ? shift < 0 : String(shift).trimStart().startsWith('-');
  const distance = typeof shift === 'number' ? Math.abs(shift) : String(shift).trimStart().replace(/^-/, '');
  const distanceMs = toMs(distance);
  if (distanceMs === undefined) {
    throw new InvalidOptionsError(
      'shift',
      `Option shift is ${describeValue(shift)}. Give ${DURATION_HINT}, with a minus to move earlier.`,
    );
  }
  return isBack ? -distanceMs : distanceMs;
}
