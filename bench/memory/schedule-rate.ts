import { collectGarbage, rate, timed } from '../harness/measure.js';
import { openQueue, TOPIC } from '../harness/queue.js';
import { ratiosOf, type Sample, type Scenario, valuesOf } from '../harness/scenario.js';
import { type Order, orderOf, randomDelays } from '../harness/workload.js';

const HOUR_MS = 3_600_000;

interface Work {
  readonly orders: readonly Order[];
  readonly delays: readonly number[];
}

/** The caller's own data, which both sides are handed. */
function workOf(quick: boolean): Work {
  const count = quick ? 20_000 : 100_000;
  return {
    orders: Array.from({ length: count }, (_, index) => orderOf(index)),
    delays: randomDelays(count, HOUR_MS, 24 * HOUR_MS),
  };
}

/** The first batch finds the code uncompiled, the second is what a service that has been up for a while sees. */
async function sampleOf(work: Work, scheduleAll: (work: Work) => Promise<number>): Promise<Sample> {
  const firstMs = await scheduleAll(work);
  await collectGarbage();
  const laterMs = await scheduleAll(work);
  return { first: rate(work.orders.length, firstMs), later: rate(work.orders.length, laterMs) };
}

/** The making of the requests counts, as does the making of the closures on the other side. */
async function scheduleOnQueue({ orders, delays }: Work): Promise<number> {
  const queue = await openQueue();
  const ms = await timed(() =>
    queue.service.scheduleMany(
      orders.map((payload, index) => ({ topic: TOPIC, payload, delay: delays[index]! })),
    ),
  );
  await queue.close();
  return ms;
}

async function setTimers({ orders, delays }: Work): Promise<number> {
  let handled = 0;
  const handle = (order: Order): void => void (handled += order.total);
  let timers: NodeJS.Timeout[] = [];
  const ms = await timed(() => {
    timers = orders.map((order, index) => setTimeout(() => handle(order), delays[index]));
  });
  timers.forEach(clearTimeout);
  return ms;
}

export const scenario: Scenario = {
  title: 'schedule 100 k jobs, payload encoded, due in 1 to 24 h',
  rounds: 9,
  measurements: {
    queue: (quick) => sampleOf(workOf(quick), scheduleOnQueue),
    setTimeout: (quick) => sampleOf(workOf(quick), setTimers),
  },
  figures: (rounds) =>
    (['first', 'later'] as const).flatMap((batch) => {
      const queue = valuesOf(rounds, 'queue', batch);
      const timers = valuesOf(rounds, 'setTimeout', batch);
      return [
        { name: `${batch} batch: scheduleMany`, unit: 'jobs/s', values: queue },
        { name: `${batch} batch: setTimeout each, nothing encoded`, unit: 'timers/s', values: timers },
        {
          name: `${batch} batch: ratio`,
          unit: 'x',
          values: ratiosOf(queue, timers),
          target: { atLeast: 2 },
        },
      ];
    }),
};
