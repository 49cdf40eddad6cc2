import type { Page } from '../delay-queue.provider.js';

/** Items of one script call. */
const BATCH = 500;

/**
 * Reads up to `limit` items, one part of a topic after the other. The cursor names the part and where in it to go on;
 * where there is one part, it is that part's own.
 * @param read one page of one part, of `count` items at most
 */
export async function readPages<Item>(
  parts: number,
  limit: number,
  cursor: string | undefined,
  read: (part: number, count: number, from: string | undefined) => Promise<Page<Item>>,
): Promise<Page<Item>> {
  const items: Item[] = [];
  let [part, from] = readCursor(cursor);
  while (part < parts && items.length < limit) {
    const page = await read(part, Math.min(BATCH, limit - items.length), from);
    items.push(...page.items);
    from = page.cursor;
    if (from === undefined) part++;
  }
  // No cursor for parts that hold nothing more.
  if (from === undefined) {
    while (part < parts && (await read(part, 1, undefined)).items.length === 0) part++;
  }
  return { items, cursor: part < parts ? `${part}/${from ?? ''}` : undefined };
}

function readCursor(cursor = '0/'): [number, string | undefined] {
  const [part, from] = cursor.split('/');
  return [Number(part), from || undefined];
}

/** A dead letter's number is unique in its part, which stands behind it. */
export function splitDeadLetterId(deadLetterId: string): { readonly number: string; readonly part: number } {
  const [number, part = '0'] = deadLetterId.split('.');
  return { number: number!, part: Number(part) };
}
