import { describeValue } from '../describe-value.js';
import { PayloadNotReadableError, PayloadNotSerializableError } from '../delay-queue.errors.js';

/** Turns payloads into text and back. `decode(encode(value))` must equal `value`; `encode` throws where it cannot. */
export interface PayloadSerializer {
  encode(value: unknown): string;
  decode(text: string): unknown;
}

/** What stands for "no payload", which JSON has no word for. */
const NO_PAYLOAD = '';

/**
 * JSON that refuses what JSON would change in silence: NaN, Map, Set, functions, holes in arrays. What it lets through
 * with a change: a Date and anything else with `toJSON` becomes what that returns, an undefined property is left out,
 * an instance of a class becomes a plain object.
 */
export const jsonSerializer: PayloadSerializer = {
  encode(value) {
    if (value === undefined) return NO_PAYLOAD;
    const text = stringify(value);
    const problem = findProblem(value);
    if (problem !== undefined) throw new PayloadNotSerializableError(`payload${problem}`);
    return text;
  },
  decode(text) {
    return text === NO_PAYLOAD ? undefined : JSON.parse(text);
  },
};

/** Encodes and decodes payloads of one queue, and says of which topic it could not. */
export class PayloadCodec {
  constructor(
    private readonly serializer: PayloadSerializer,
    private readonly maxBytes: number,
  ) {}

  /** @throws PayloadNotSerializableError */
  encode(topic: string, payload: unknown): string {
    let text: string;
    try {
      text = this.serializer.encode(payload);
    } catch (error) {
      throw new PayloadNotSerializableError(
        `Cannot schedule a job on topic "${topic}": ${messageOf(error)}. Give values the serializer can encode.`,
        { cause: error },
      );
    }
    if (typeof text !== 'string') {
      throw new PayloadNotSerializableError(
        `Cannot schedule a job on topic "${topic}": the serializer returned ${describeValue(text)} instead of a string.`,
      );
    }
    // A UTF-16 unit takes 3 bytes at most: short texts need no count.
    if (text.length * 3 > this.maxBytes && Buffer.byteLength(text) > this.maxBytes) {
      throw new PayloadNotSerializableError(
        `Cannot schedule a job on topic "${topic}": the payload takes ${Buffer.byteLength(text)} bytes, more than ` +
          `maxPayloadBytes (${this.maxBytes}). Store the data elsewhere and schedule a reference, or raise the limit.`,
      );
    }
    return text;
  }

  /** @throws PayloadNotReadableError */
  decode(topic: string, id: string, text: string): unknown {
    try {
      return this.serializer.decode(text);
    } catch (error) {
      throw new PayloadNotReadableError(
        `The payload of job "${id}" of topic "${topic}" cannot be decoded: ${messageOf(error)}.`,
        { cause: error },
      );
    }
  }
}

function stringify(value: unknown): string {
  try {
    // Of a function or a symbol there is no text; the search for a problem names it.
    return flat(JSON.stringify(value) ?? NO_PAYLOAD);
  } catch (error) {
    const problem = findProblem(value, []);
    throw new PayloadNotSerializableError(problem === undefined ? messageOf(error) : `payload${problem}`, {
      cause: error,
    });
  }
}

/**
 * V8 hands out a text that `JSON.stringify` grew as the chain of pieces it grew by, which takes 90 bytes more for a
 * payload of 110. Reading a character joins them; the garbage collector then drops the chain.
 */
function flat(text: string): string {
  text.charCodeAt(text.length >> 1);
  return text;
}

/**
 * Where in the value, and what it is that JSON cannot keep: `.items[2] is 1n`.
 * @param parents the way down to here, to notice cycles; left out for a value that is known to have none
 */
function findProblem(value: unknown, parents?: readonly object[]): string | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return undefined;
    case 'number':
      return Number.isFinite(value) ? undefined : ` is ${value}`;
    case 'object':
      return value === null ? undefined : findInObject(value, parents);
    default:
      return ` is ${describeValue(value)}`;
  }
}

function findInObject(value: object, parents: readonly object[] | undefined): string | undefined {
  if (parents?.includes(value)) return ' refers back to itself';
  const path = parents && [...parents, value];
  if (Array.isArray(value)) return findInArray(value, path);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? ' is an invalid Date' : undefined;
  if (isLostInJson(value)) return ` is a ${value.constructor.name}, which JSON turns into something else`;
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return findInJson(value, toJSON as ToJson, path);
  if (Object.getOwnPropertySymbols(value).length > 0) return ' has a property under a symbol';
  for (const key of Object.keys(value)) {
    const problem = findProblem((value as Record<string, unknown>)[key], path);
    if (problem !== undefined)
      return /^\w+$/.test(key) ? `.${key}${problem}` : `[${JSON.stringify(key)}]${problem}`;
  }
  return undefined;
}

type ToJson = (this: object, key: string) => unknown;

/** What `toJSON` gives is what is stored. */
function findInJson(value: object, toJSON: ToJson, path: readonly object[] | undefined): string | undefined {
  const given = toJSON.call(value, '');
  if (given === undefined) return ' gives nothing by toJSON';
  const problem = given === value ? undefined : findProblem(given, path);
  return problem === undefined ? undefined : `.toJSON()${problem}`;
}

function findInArray(values: readonly unknown[], path: readonly object[] | undefined): string | undefined {
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    const problem = value === undefined ? ' is undefined' : findProblem(value, path);
    if (problem !== undefined) return `[${index}]${problem}`;
  }
  return undefined;
}

function isLostInJson(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return false;
  return (
    value instanceof Map ||
    value instanceof Set ||
    value instanceof WeakMap ||
    value instanceof WeakSet ||
    value instanceof RegExp ||
    value instanceof Error ||
    value instanceof Promise ||
    value instanceof ArrayBuffer ||
    ArrayBuffer.isView(value)
  );
}

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : describeValue(error);
  return message.replace(/\.\s*$/, '').split('\n')[0]!;
}
