import { Cron } from 'croner';
import { OptionReader } from '../check-options.js';
import type { Duration } from '../duration.js';

/** What to do about an occurrence that could not start in time. */
export type Misfire = 'run-once' | 'skip' | 'catch-up';

/** When something recurs: exactly one of `every` and `cron`. */
export interface RecurrenceOptions {
  /** From occurrence to occurrence, whatever a run takes; from 1 ms. The first is one interval after the start. */
  readonly every?: Duration;
  /**
   * Five fields, or six with seconds first. An hour that the change to summer time leaves out runs at its end; one that
   * the change back repeats runs once.
   */
  readonly cron?: string;
  /** IANA name such as `'Europe/Brussels'`, for `cron`. @default 'UTC', so that it does not depend on the host */
  readonly timezone?: string;
  /**
   * After downtime, a pause or a busy time: `run-once` runs the latest missed occurrence and goes on with the next one
   * to come, `catch-up` runs every missed one in turn, `skip` runs none that is later than `misfireGrace`.
   * @default 'run-once'
   */
  readonly misfire?: Misfire;
  /** How late an occurrence may start before `skip` gives it up. @default '1m' */
  readonly misfireGrace?: Duration;
}

/** Checked, in ms; JSON, as it is kept in the topic's settings. */
export interface Recurrence {
  readonly everyMs?: number;
  readonly cron?: string;
  readonly timezone?: string;
  readonly misfire: Misfire;
  readonly misfireGraceMs: number;
}

export const RECURRENCE_OPTION_NAMES = ['every', 'cron', 'timezone', 'misfire', 'misfireGrace'] as const;

/**
 * @returns `undefined` where none of the options is set
 * @throws InvalidOptionsError
 */
export function readRecurrence(options: RecurrenceOptions, path: string): Recurrence | undefined {
  const reader = OptionReader.of(options, path, RECURRENCE_OPTION_NAMES);
  if (Object.values(options).every((value) => value === undefined)) return undefined;
  const { every, cron, timezone } = options;
  if ((every === undefined) === (cron === undefined)) {
    throw reader.error('every', 'and cron exclude each other and one is needed. Give one of them');
  }
  if (timezone !== undefined && cron === undefined) {
    throw reader.error('timezone', 'has no effect on every. Leave it out, or give cron');
  }
  const recurrence: Recurrence = {
    ...(every !== undefined && { everyMs: reader.duration('every', 1) }),
    ...(cron !== undefined && { cron, timezone: timezone ?? 'UTC' }),
    misfire: reader.word('misfire', ['run-once', 'skip', 'catch-up']) ?? 'run-once',
    misfireGraceMs: reader.duration('misfireGrace') ?? 60_000,
  };
  if (cron !== undefined) assertCron(recurrence, reader);
  return recurrence;
}

/**
 * The first occurrence after an instant, epoch ms.
 * @param base an occurrence, which the interval counts from
 * @returns `undefined` for a pattern that never matches again
 */
export function nextOccurrence(recurrence: Recurrence, base: number, after: number): number | undefined {
  const { everyMs, cron, timezone } = recurrence;
  if (everyMs !== undefined) return base + (Math.max(0, Math.floor((after - base) / everyMs)) + 1) * everyMs;
  return new Cron(cron!, { timezone, paused: true }).nextRun(new Date(after))?.getTime();
}

function assertCron(recurrence: Recurrence, reader: OptionReader<RecurrenceOptions>): void {
  try {
    nextOccurrence(recurrence, 0, Date.now());
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw reader.error(
      'cron',
      `${JSON.stringify(recurrence.cron)} in time zone ${JSON.stringify(recurrence.timezone)} is not understood (${why}). ` +
        `Give five fields such as '0 3 * * *', or six with seconds first, and an IANA time zone`,
    );
  }
}
