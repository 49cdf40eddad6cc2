/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle) - 1]!) / 2;
}

/** The least value that `share` (0 to 1) of all values do not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;
}

/** @throws Error for anything but a finite number */
export function requireFinite(value: number | undefined, name: string): number {
  if (value === undefined || !Number.isFinite(value)) {
    throw new Error(`The benchmark gave no number for ${name}, but ${value}.`);
  }
  return value;
}

/** Duration of `work`, ms. */
export async function timed(work: () => unknown): Promise<number> {
  const startedAtMs = performance.now();
  await work();
  return performance.now() - startedAtMs;
}

/** Operations a second. */
export function rate(count: number, ms: number): number {
  return (count / ms) * 1_000;
}

/** One turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const SETTLED_BYTES = 1_024;

/**
 * Live memory, bytes: the heap and what lies outside of it, typed arrays included (Node counts `arrayBuffers` within
 * `external`). Collects garbage until two readings agree, because array buffers are freed after the collection.
 */
export async function liveBytes(): Promise<number> {
  let bytes = Infinity;
  for (let attempt = 0; attempt < 10; attempt++) {
    await collectGarbage();
    const before = bytes;
    const { heapUsed, external } = process.memoryUsage();
    bytes = heapUsed + external;
    if (Math.abs(before - bytes) < SETTLED_BYTES) break;
  }
  return bytes;
}

/** @throws Error without `--expose-gc` */
export async function collectGarbage(): Promise<void> {
  if (!globalThis.gc) throw new Error('Run the benchmark with node --expose-gc.');
  await nextTurn();
  globalThis.gc();
}
