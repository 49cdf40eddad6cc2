import { randomBytes } from 'node:crypto';

/** Random part, drawn once a process: 72 bits, so that two processes never share it. */
const PREFIX = randomBytes(9).toString('base64url');
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_';
const COUNTER_LENGTH = 7;

const buffer = Buffer.from(PREFIX + DIGITS[0]!.repeat(COUNTER_LENGTH), 'latin1');
const digits = new Uint8Array(COUNTER_LENGTH);

/**
 * An id no other job has: a random prefix of this process and a counter. Short, because a store keeps one for every
 * pending job, and read out of a buffer, because a concatenated string takes twice the memory of a flat one.
 * Not a secret: the next one can be guessed.
 */
export function generateJobId(): string {
  for (let place = COUNTER_LENGTH - 1; place >= 0; place--) {
    const digit = digits[place]! + 1;
    if (digit < DIGITS.length) {
      digits[place] = digit;
      buffer[PREFIX.length + place] = DIGITS.charCodeAt(digit);
      break;
    }
    digits[place] = 0;
    buffer[PREFIX.length + place] = DIGITS.charCodeAt(0);
  }
  return buffer.toString('latin1');
}
