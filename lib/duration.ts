import ms from 'ms';
import { InvalidOptionsError } from './delay-queue.errors.js';
import { describeValue } from './describe-value.js';

/** Milliseconds, or a text with a unit such as `'500ms'`, `'30s'`, `'5m'`, `'2h'`, `'1 day'`, `'2w'`, `'1y'`. */
export type Duration = number | string;

/** The longest delay: ten years of 365.25 days. Far above any sensible one, far below what would lose precision. */
export const MAX_DURATION_MS = 315_576_000_000;

/** For messages. */
export const DURATION_HINT = `milliseconds from 0 to ${MAX_DURATION_MS} (ten years), or a text with one unit such as '500ms', '30s', '5m', '2h' or '1 day'`;

/** The parser takes a bare number in a text for milliseconds; whoever wrote '30' may have meant seconds. */
const HAS_UNIT = /[a-z]\s*$/i;

/** The parser throws on longer texts. */
const MAX_TEXT_LENGTH = 100;

/**
 * Whole milliseconds, a fraction rounded up so that nothing is early.
 * @returns `undefined` for anything that is no duration from 0 to ten years
 */
export function toMs(duration: unknown): number | undefined {
  const value = typeof duration === 'string' ? parse(duration) : duration;
  if (typeof value !== 'number') return undefined;
  const whole = Math.ceil(value);
  // Written so that NaN fails.
  return whole >= 0 && whole <= MAX_DURATION_MS && value >= 0 ? whole : undefined;
}

/**
 * Reads a duration as every option of this module does, for settings of your own.
 * @returns whole milliseconds, from 0 to ten years
 * @throws InvalidOptionsError for anything else
 * @example parseDuration('30m') / 2
 */
export function parseDuration(duration: Duration): number {
  const valueMs = toMs(duration);
  if (valueMs !== undefined) return valueMs;
  throw new InvalidOptionsError(
    'duration',
    `${describeValue(duration)} is no duration. Give ${DURATION_HINT}.`,
  );
}

function parse(text: string): number | undefined {
  if (text.length > MAX_TEXT_LENGTH || !HAS_UNIT.test(text)) return undefined;
  return ms(text.trim() as ms.StringValue);
}
