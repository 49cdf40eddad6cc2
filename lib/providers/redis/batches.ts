/** Items of one script call; and what its arguments may weigh, so that no call blocks the server for long. */
const BATCH = 500;
const BATCH_BYTES = 1_000_000;
/** How many batches are put together before the event loop gets a chance to send them. */
const UNSENT_BATCHES = 4;

/** Cuts at 500 items, or earlier where they are large; the scripts run in the order of the items. */
export async function inBatches<Item, Reply>(
  items: readonly Item[],
  send: (batch: readonly Item[]) => Promise<Reply>,
  sizeOf?: (item: Item) => number,
): Promise<readonly Reply[]> {
  if (items.length === 0) return [];
  if (!sizeOf && items.length <= BATCH) return [await send(items)];
  const replies: Promise<Reply>[] = [];
  let first = 0;
  let bytes = 0;
  for (let at = 0; at < items.length; at++) {
    bytes += sizeOf?.(items[at]!) ?? 0;
    if (at - first + 1 < BATCH && bytes < BATCH_BYTES && at + 1 < items.length) continue;
    const reply = send(items.slice(first, at + 1));
    // Told by `Promise.all`; one that fails before the last is sent must not count as unhandled.
    reply.catch(() => undefined);
    replies.push(reply);
    // Else the server would have nothing to do until the last batch is put together: sockets are written in between.
    if (replies.length % UNSENT_BATCHES === 0) await nextTurn();
    first = at + 1;
    bytes = 0;
  }
  return Promise.all(replies);
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
