import { liveBytes } from '../harness/measure.js';
import { openQueue, TOPIC } from '../harness/queue.js';
import { type Sample, type Scenario, valuesOf } from '../harness/scenario.js';
import { type Order, orderOf, randomDelays } from '../harness/workload.js';
import type { DelayQueueService } from '../../lib/schedule/delay-queue.service.js';

const HOUR_MS = 3_600_000;
const WARM_UP = 20_000;

function countOf(quick: boolean): number {
  return quick ? 20_000 : 100_000;
}

/** In a function of its own, so that neither requests nor results outlive it. */
async function fill(service: DelayQueueService, count: number): Promise<void> {
  const delays = randomDelays(count, HOUR_MS, 24 * HOUR_MS);
  await service.scheduleMany(
    delays.map((delay, index) => ({ topic: TOPIC, payload: orderOf(index), delay })),
  );
}

/** ASCII, so that a character of the text is a byte. */
function textBytes(count: number): number {
  let bytes = 0;
  for (let index = 0; index < count; index++) bytes += JSON.stringify(orderOf(index)).length;
  return bytes;
}

async function sampleQueue(quick: boolean): Promise<Sample> {
  const count = countOf(quick);
  const text = textBytes(count) / count;
  // Compiled code is on the heap as well, and not the jobs' doing.
  const warmUp = await openQueue();
  await fill(warmUp.service, WARM_UP);
  await warmUp.close();

  const queue = await openQueue();
  const before = await liveBytes();
  await fill(queue.service, count);
  const perJob = ((await liveBytes()) - before) / count;
  const { pending } = await queue.service.stats(TOPIC);
  if (pending !== count) throw new Error(`${pending} jobs are pending instead of ${count}.`);
  await queue.close();
  return { text, inAll: perJob, beyondText: perJob - text };
}

async function sampleTimers(quick: boolean): Promise<Sample> {
  const count = countOf(quick);
  const delays = randomDelays(count, HOUR_MS, 24 * HOUR_MS);
  let handled = 0;
  const handle = (order: Order): void => void (handled += order.total);
  const set = (order: Order, index: number): NodeJS.Timeout =>
    setTimeout(() => handle(order), delays[index % count]);
  Array.from({ length: WARM_UP }, (_, index) => set(orderOf(index), index)).forEach(clearTimeout);

  const before = await liveBytes();
  const orders = Array.from({ length: count }, (_, index) => orderOf(index));
  const withOrders = await liveBytes();
  // Kept, as whoever may want to cancel one must; the queue keeps its ids.
  const timers = orders.map(set);
  const after = await liveBytes();
  timers.forEach(clearTimeout);
  return { inAll: (after - before) / count, beyondPayload: (after - withOrders) / count };
}

export const scenario: Scenario = {
  title: 'memory of a pending job, 100 k pending, generated ids',
  rounds: 3,
  measurements: { queue: sampleQueue, setTimeout: sampleTimers },
  figures: (rounds) => [
    { name: "the payload's text", unit: 'B', values: valuesOf(rounds, 'queue', 'text') },
    {
      name: 'a job beyond that text',
      unit: 'B',
      values: valuesOf(rounds, 'queue', 'beyondText'),
      target: { atMost: 200 },
    },
    {
      name: 'a setTimeout beyond the payload it closes over',
      unit: 'B',
      values: valuesOf(rounds, 'setTimeout', 'beyondPayload'),
    },
    { name: 'a job in all', unit: 'B', values: valuesOf(rounds, 'queue', 'inAll') },
    { name: 'a setTimeout in all', unit: 'B', values: valuesOf(rounds, 'setTimeout', 'inAll') },
  ],
};
