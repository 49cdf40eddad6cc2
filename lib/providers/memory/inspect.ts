import type { Clock } from '../../clock.js';
import type { FindQuery, Page, StoredJob, TopicCounts } from '../delay-queue.provider.js';
import type { MemoryTopic } from './memory-topic.js';

/** A job as the outside sees it. */
export function describeJob(topic: MemoryTopic, slot: number, clock: Clock): StoredJob {
  const { table } = topic;
  const inFlight = topic.isInFlight(slot);
  return {
    id: table.idOf(slot),
    topic: topic.name,
    payload: table.payloadOf(slot),
    state: inFlight ? 'in-flight' : 'pending',
    dueAt: table.dueAtOf(slot),
    scheduledAt: table.scheduledAtOf(slot),
    attempt: table.attemptOf(slot),
    leaseExpiresAt: inFlight ? clock.wallNow() + topic.order.monotonicDueOf(slot) - clock.now() : undefined,
    extras: table.extrasOf(slot),
  };
}

/**
 * Looks at every job of the topic: a heap knows its head, not its order. The page after a cursor starts behind the due
 * time and sequence the cursor names, so jobs that come and go meanwhile shift nothing.
 */
export function findJobs(topic: MemoryTopic, query: FindQuery, clock: Clock): Page<StoredJob> {
  const { table, order } = topic;
  const { dueFrom = -Infinity, dueTo = Infinity, limit } = query;
  const [afterDueAt, afterSequence] = query.cursor?.split(':').map(Number) ?? [-Infinity, -1];

  const found: Found[] = [];
  order.forEach((slot) => {
    const dueAt = table.dueAtOf(slot);
    if (dueAt < dueFrom || dueAt > dueTo || dueAt < afterDueAt!) return;
    const sequence = order.sequenceOf(slot);
    if (dueAt === afterDueAt && sequence <= afterSequence!) return;
    if (topic.isGivenUp(slot)) return;
    if (topic.isInFlight(slot) !== (query.state === 'in-flight')) return;
    found.push({ slot, dueAt, sequence });
    // Sorting all that match for each page of a large window would take longer than reading it.
    if (found.length > limit + SELECTION) keepFirst(found, limit + 1);
  });
  keepFirst(found, limit + 1);

  const page = found.slice(0, limit);
  const last = page.at(-1);
  return {
    items: page.map(({ slot }) => describeJob(topic, slot, clock)),
    cursor: last && found.length > limit ? `${last.dueAt}:${last.sequence}` : undefined,
  };
}

/** How many more than a page holds are gathered before those too late for it are let go. */
const SELECTION = 10_000;

interface Found {
  readonly slot: number;
  readonly dueAt: number;
  readonly sequence: number;
}

function keepFirst(found: Found[], count: number): void {
  found.sort((a, b) => a.dueAt - b.dueAt || a.sequence - b.sequence);
  found.length = Math.min(found.length, count);
}

/** Costs a look at each due job, none at the others. */
export function countJobs(topic: MemoryTopic, clock: Clock): TopicCounts {
  let due = 0;
  let expired = 0;
  let givenUp = 0;
  let headAgeMs = 0;
  const nowMs = clock.now();
  topic.order.forEachDue((slot) => {
    const lease = topic.leases.ofSlot(slot);
    if (lease) expired++;
    if (lease?.cancelled) {
      givenUp++;
      return;
    }
    due++;
    headAgeMs = Math.max(headAgeMs, nowMs - topic.order.monotonicDueOf(slot));
  });
  const inFlight = topic.leases.size - expired;
  return {
    pending: topic.table.size - inFlight - givenUp,
    due,
    headAgeMs,
    inFlight,
    dead: topic.dead.size,
    paused: topic.paused,
  };
}
