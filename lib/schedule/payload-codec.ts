import { describeValue } from '../describe-value.js';
import { findProblem, ProblemSearch } from './payload-check.js';
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
    const search = new ProblemSearch();
    const problem = findProblem(value, search);
    if (problem !== undefined) throw new PayloadNotSerializableError(`payload${problem}`);
    return flat(search.metToJson ? stringifyChecked(value) : JSON.stringify(value));
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

/** What `toJSON` gives is known only while JSON asks for it, and may be asked for once. */
function stringifyChecked(value: unknown): string {
  const text = JSON.stringify(value, function (this: unknown, key: string, given: unknown): unknown {
    const isHole = given === undefined && Array.isArray(this);
    const problem = isHole ? ' is nothing' : new ProblemSearch(false).in(given);
    if (problem === undefined) return given;
    throw new PayloadNotSerializableError(
      `what toJSON gives for ${JSON.stringify(key)} of the payload${problem}`,
    );
  });
  if (text === undefined)
    throw new PayloadNotSerializableError('payload is an object whose toJSON gives nothing');
  return text;
}

/**
 * V8 hands out a text that `JSON.stringify` grew as the chain of pieces it grew by, which takes 90 bytes more for a
 * payload of 110. Reading a character joins them; the garbage collector then drops the chain.
 */
function flat(text: string): string {
  text.charCodeAt(text.length >> 1);
  return text;
}

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : describeValue(error);
  return message.replace(/\.\s*$/, '').split('\n')[0]!;
}
