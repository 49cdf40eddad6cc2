import { randomBytes } from 'node:crypto';

/** Characters of the random part. 54 bits: of a million processes, two share one with a chance of 1 in 36 000. */
const PREFIX_LENGTH = 9;
/**
 * Characters of the counter: a billion jobs, then another random part is drawn. In all 14 characters, the longest text
 * that Redis keeps in 16 bytes; it keeps each id twice.
 */
const COUNTER_LENGTH = 5;
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_';

const buffer = Buffer.from(newPrefix() + DIGITS[0]!.repeat(COUNTER_LENGTH), 'latin1');
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
      buffer[PREFIX_LENGTH + place] = DIGITS.charCodeAt(digit);
      break;
    }
    digits[place] = 0;
    buffer[PREFIX_LENGTH + place] = DIGITS.charCodeAt(0);
    if (place === 0) buffer.write(newPrefix(), 'latin1');
  }
  return buffer.toString('latin1');
}

function newPrefix(): string {
  return randomBytes(PREFIX_LENGTH).toString('base64url').slice(0, PREFIX_LENGTH);
}
