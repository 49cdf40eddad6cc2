import { InvalidOptionsError } from './delay-queue.errors.js';
import { describeValue } from './describe-value.js';
import { DURATION_HINT, toMs } from './duration.js';

/** Reads options out of an object that may come from JavaScript, and says by its path which one is wrong. */
export class OptionReader<Options extends object> {
  private constructor(
    private readonly options: Options,
    private readonly path: string,
    private readonly operation?: string,
  ) {}

  /**
   * @param path what precedes an option's name in messages; empty at the top
   * @param operation what the caller wants, for messages
   * @throws InvalidOptionsError if `options` is no object or has an option that is not `known`
   */
  static of<Options extends object>(
    options: Options,
    path: string,
    known: readonly (keyof Options & string)[],
    operation?: string,
  ): OptionReader<Options> {
    if (typeof options !== 'object' || options === null || Array.isArray(options)) {
      const what = operation === undefined ? '' : `Cannot ${operation}: `;
      throw new InvalidOptionsError(
        path,
        `${what}${path || 'the options'} must be an object, not ${describeValue(options)}.`,
      );
    }
    const reader = new OptionReader(options, path, operation);
    for (const key of Object.keys(options)) {
      if (!known.includes(key as keyof Options & string)) {
        throw reader.error(key, `is unknown. Known here: ${known.join(', ')}`);
      }
    }
    return reader;
  }

  /**
   * For options whose names are checked already.
   * @param operation what the caller wants, for messages
   */
  static trusted<Options extends object>(options: Options, operation: string): OptionReader<Options> {
    return new OptionReader(options, '', operation);
  }

  /** A whole number of `least` or more; `undefined` where it is not set. */
  whole(key: keyof Options & string, least: number, most = Number.MAX_SAFE_INTEGER): number | undefined {
    const value: unknown = this.options[key];
    if (value === undefined) return undefined;
    if (!Number.isSafeInteger(value) || (value as number) < least || (value as number) > most) {
      const range = most === Number.MAX_SAFE_INTEGER ? `of ${least} or more` : `from ${least} to ${most}`;
      throw this.error(key, `is ${describeValue(value)}. Give a whole number ${range}`);
    }
    return value as number;
  }

  /** A number within a range; `undefined` where it is not set. */
  number(key: keyof Options & string, least: number, most: number): number | undefined {
    const value: unknown = this.options[key];
    if (value === undefined) return undefined;
    if (typeof value !== 'number' || !(value >= least && value <= most)) {
      throw this.error(key, `is ${describeValue(value)}. Give a number from ${least} to ${most}`);
    }
    return value;
  }

  /** A duration in ms; `undefined` where it is not set. */
  duration(key: keyof Options & string, leastMs = 0): number | undefined {
    const value: unknown = this.options[key];
    return value === undefined ? undefined : this.toDuration(key, value, leastMs);
  }

  toDuration(key: string, value: unknown, leastMs = 0): number {
    const valueMs = toMs(value);
    if (valueMs === undefined) throw this.error(key, `is ${describeValue(value)}. Give ${DURATION_HINT}`);
    if (valueMs < leastMs) throw this.error(key, `is ${valueMs} ms. Give ${leastMs} ms or more`);
    return valueMs;
  }

  /** `undefined` where it is not set. */
  flag(key: keyof Options & string): boolean | undefined {
    const value: unknown = this.options[key];
    if (value === undefined || typeof value === 'boolean') return value;
    throw this.error(key, `is ${describeValue(value)}. Give true or false`);
  }

  /** One of some words; `undefined` where it is not set. */
  word<Word extends string>(key: keyof Options & string, words: readonly Word[]): Word | undefined {
    const value: unknown = this.options[key];
    if (value === undefined) return undefined;
    if (!words.includes(value as Word)) {
      throw this.error(key, `is ${describeValue(value)}. Give ${words.map((w) => `'${w}'`).join(' or ')}`);
    }
    return value as Word;
  }

  error(key: string, problem: string): InvalidOptionsError {
    const option = this.pathOf(key);
    const what = this.operation === undefined ? 'Option' : `Cannot ${this.operation}: option`;
    return new InvalidOptionsError(option, `${what} ${option} ${problem}.`);
  }

  pathOf(key: string): string {
    const name = /^[\w$]+(\[\d+\])?$/.test(key) ? key : `[${JSON.stringify(key)}]`;
    return this.path === '' || name.startsWith('[') ? this.path + name : `${this.path}.${name}`;
  }
}
