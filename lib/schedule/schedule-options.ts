import { OptionReader } from '../check-options.js';
import { InvalidOptionsError } from '../delay-queue.errors.js';
import type { BackoffOptions } from '../delay-queue.options.js';
import { describeValue } from '../describe-value.js';
import type { Duration } from '../duration.js';
import type { Backoff, JobExtras, OnExpiry } from '../job.js';
import { assertId } from '../names.js';
import type { IfExists, NewJob } from '../providers/delay-queue.provider.js';
import { ATTEMPT_OPTION_NAMES, readAttemptOptions } from '../topic-options.js';
import { type DueTimeOptions, readDueTime } from './due-time.js';
import { generateJobId } from './job-id.js';

/** When a job runs, and how it differs from the others of its topic. `delay` or `at` is required. */
export interface ScheduleOptions extends DueTimeOptions {
  /**
   * Names the job on its topic, for `cancel`, `reschedule` and `get`; 1 to 255 characters. Free again as soon as the
   * job starts or is cancelled. @default a generated id
   */
  readonly id?: string;
  /**
   * If a job of this id is pending: `keep` leaves it as it is (a throttle), `replace` gives it the new payload and due
   * time (a debounce), `reject` throws `JobExistsError`. @default 'keep'
   */
  readonly ifExists?: IfExists;
  /** With `replace`: never due later than this after the id was first scheduled. @default no bound */
  readonly maxWait?: Duration;
  /** Strings that travel with the job beside its payload. */
  readonly headers?: Readonly<Record<string, string>>;
  /** As in the topic's options, for this job. */
  readonly maxAttempts?: number;
  /** As in the topic's options, for this job; not a function, which cannot be stored. */
  readonly backoff?: Exclude<BackoffOptions, (...args: never[]) => unknown>;
  /** As in the topic's options, for this job. */
  readonly timeout?: Duration;
  /** As in the topic's options, for this job. */
  readonly expiresAfter?: Duration;
  /** As in the topic's options, for this job. */
  readonly onExpiry?: OnExpiry;
}

const OPTION_NAMES = [
  'delay',
  'at',
  'id',
  'ifExists',
  'maxWait',
  'headers',
  ...ATTEMPT_OPTION_NAMES,
] as const satisfies readonly (keyof ScheduleOptions)[];

const OPTION_NAME_SET: ReadonlySet<string> = new Set(OPTION_NAMES);
/** Those a plain job does without; kept out of the way of the many that are plain. */
const EXTRA_NAMES: ReadonlySet<string> = new Set(['headers', ...ATTEMPT_OPTION_NAMES]);

/**
 * Checks everything about one job but its topic and payload.
 * @param operation what the caller wants, for messages: `schedule a job on topic "a"`
 * @param beside names that stand in the same object and mean something else
 * @throws InvalidDueTimeError, InvalidNameError, InvalidOptionsError
 */
export function toNewJob(
  payload: string,
  options: ScheduleOptions,
  operation: string,
  beside?: ReadonlySet<string>,
): NewJob {
  const hasExtras = checkNames(options, operation, beside);
  const { delayMs, at } = readDueTime(options, operation);
  if (options.id !== undefined) assertId(options.id, operation);
  const ifExists = options.ifExists === undefined ? 'keep' : options.ifExists;
  return {
    id: options.id ?? generateJobId(),
    payload,
    delayMs,
    at,
    ifExists,
    maxWaitMs:
      ifExists === 'keep' && options.maxWait === undefined ? undefined : readDebounce(options, operation),
    extras: hasExtras ? readExtras(options, operation) : undefined,
  };
}

/** @returns whether anything is set that a plain job does without */
function checkNames(options: ScheduleOptions, operation: string, beside?: ReadonlySet<string>): boolean {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidOptionsError(
      'options',
      `Cannot ${operation}: the options are ${describeValue(options)}. Give an object with delay or at.`,
    );
  }
  let hasExtras = false;
  for (const name in options) {
    if (EXTRA_NAMES.has(name)) hasExtras = true;
    else if (!OPTION_NAME_SET.has(name) && !beside?.has(name)) {
      throw OptionReader.trusted(options, operation).error(
        name,
        `is unknown. Known here: ${OPTION_NAMES.join(', ')}`,
      );
    }
  }
  return hasExtras;
}

function readDebounce(options: ScheduleOptions, operation: string): number | undefined {
  const reader = OptionReader.trusted(options, operation);
  const ifExists = reader.word('ifExists', ['keep', 'replace', 'reject']) ?? 'keep';
  const maxWaitMs = reader.duration('maxWait');
  if (maxWaitMs !== undefined && ifExists !== 'replace') {
    throw reader.error(
      'maxWait',
      `bounds what ifExists 'replace' may do, but ifExists is '${ifExists}'. Leave one of them out`,
    );
  }
  if (ifExists !== 'keep' && options.id === undefined) {
    throw reader.error('ifExists', `is '${ifExists}', which needs an id to compare. Give an id`);
  }
  return maxWaitMs;
}

function readExtras(options: ScheduleOptions, operation: string): JobExtras {
  const reader = OptionReader.trusted(options, operation);
  if (typeof options.backoff === 'function') {
    throw reader.error(
      'backoff',
      'is a function, which cannot be stored with a job. Give it to @Delayed or to the topic instead',
    );
  }
  const { backoff, ...attempt } = readAttemptOptions(reader, options.backoff);
  return {
    ...attempt,
    ...(backoff && { backoff: backoff as Backoff }),
    ...(options.headers !== undefined && { headers: readHeaders(options.headers, reader) }),
  };
}

/** Of any realm. A Map or the Headers of fetch have entries, but not as properties. */
function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function readHeaders(
  headers: Readonly<Record<string, string>>,
  reader: OptionReader<ScheduleOptions>,
): Readonly<Record<string, string>> {
  if (!isPlainObject(headers)) {
    throw reader.error('headers', `is ${describeValue(headers)}. Give an object of strings`);
  }
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== 'string') {
      throw reader.error('headers', `has ${describeValue(value)} under "${name}". Give strings only`);
    }
  }
  return { ...headers };
}
