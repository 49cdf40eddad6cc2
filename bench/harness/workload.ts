export interface Order {
  readonly orderId: string;
  readonly customerId: string;
  readonly total: number;
  readonly currency: string;
  readonly attempt: number;
}

/** About 110 characters as JSON, all of them ASCII, no two alike. */
export function orderOf(index: number): Order {
  const digits = String(index).padStart(9, '0');
  return {
    orderId: `order-${digits}`,
    customerId: `customer-${digits}`,
    total: 1_000 + (index % 9_000),
    currency: 'EUR',
    attempt: 1 + (index % 9),
  };
}

/** mulberry32, https://gist.github.com/tommyettinger/46a874533244883189143505d203312c: every run draws the same numbers. */
export function randomSource(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Whole delays, evenly spread, both bounds included. */
export function randomDelays(count: number, leastMs: number, mostMs: number): readonly number[] {
  const random = randomSource(count);
  return Array.from({ length: count }, () => leastMs + Math.floor(random() * (mostMs - leastMs + 1)));
}
