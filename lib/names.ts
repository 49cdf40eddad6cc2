import { describeValue } from './describe-value.js';
import { InvalidNameError } from './delay-queue.errors.js';

/** Longest topic or id, in UTF-16 units. */
export const MAX_NAME_LENGTH = 255;

/** Control characters show nowhere and separate fields in stores; half a surrogate pair cannot be sent anywhere. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Names that were found good: topics come again and again. Bounded, for whoever makes topics up as they go. */
const goodTopics = new Set<string>();
const MAX_REMEMBERED = 1_000;

/** @throws InvalidNameError */
export function assertTopic(topic: unknown, operation: string): asserts topic is string {
  if (goodTopics.has(topic as string)) return;
  assertName('topic', topic, operation);
  if (goodTopics.size < MAX_REMEMBERED) goodTopics.add(topic);
}

/** @throws InvalidNameError */
export function assertId(id: unknown, operation: string): asserts id is string {
  assertName('id', id, operation);
}

function assertName(kind: 'topic' | 'id', name: unknown, operation: string): asserts name is string {
  const fault = faultOf(name);
  if (fault !== undefined) {
    throw new InvalidNameError(
      `Cannot ${operation}: ${kind} ${describeValue(name)} ${fault}. ` +
        `Give a string of 1 to ${MAX_NAME_LENGTH} characters without control characters.`,
    );
  }
}

function faultOf(name: unknown): string | undefined {
  if (typeof name !== 'string') return 'is not a string';
  if (name === '') return 'is empty';
  if (name.length > MAX_NAME_LENGTH) return 'is too long';
  if (CONTROL.test(name)) return 'holds a control character';
  if (!name.isWellFormed()) return 'holds half a surrogate pair';
  return undefined;
}
