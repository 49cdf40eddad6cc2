import { Countdown } from '../harness/countdown.js';
import { collectGarbage, rate } from '../harness/measure.js';
import { addHandler, openQueue, TOPIC } from '../harness/queue.js';
import { ratiosOf, type Sample, type Scenario, valuesOf } from '../harness/scenario.js';
import { type Order, orderOf } from '../harness/workload.js';

const CONCURRENCY = 100;
/** `schedule()` calls that wait for their answer at the same time. */
const CALLERS = 200;
const WARM_UP_ROUNDS = 2;

async function sampleOf(quick: boolean, run: (orders: readonly Order[]) => Promise<number>): Promise<Sample> {
  const orders = Array.from({ length: quick ? 5_000 : 20_000 }, (_, index) => orderOf(index));
  for (let round = 0; round < WARM_UP_ROUNDS; round++) await run(orders);
  await collectGarbage();
  return { perS: rate(orders.length, await run(orders)) };
}

/** From the first claim to the last settle. */
async function drain(orders: readonly Order[]): Promise<number> {
  const handled = new Countdown();
  const done = handled.expect(orders.length);
  const queue = await openQueue();
  addHandler(queue, CONCURRENCY, handled.hit);
  await queue.service.scheduleMany(orders.map((payload) => ({ topic: TOPIC, payload, delay: 0 })));

  const startedAtMs = performance.now();
  await queue.start();
  await done;
  await queue.stop();
  const ms = performance.now() - startedAtMs;

  const { pending } = await queue.service.stats(TOPIC);
  if (pending > 0) throw new Error(`${pending} jobs were not drained.`);
  await queue.close();
  return ms;
}

/** From the first call to the last settle. */
async function scheduleAndHandle(orders: readonly Order[]): Promise<number> {
  const handled = new Countdown();
  const done = handled.expect(orders.length);
  const queue = await openQueue();
  addHandler(queue, CONCURRENCY, handled.hit);
  await queue.start();

  const startedAtMs = performance.now();
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < orders.length) await queue.service.schedule(TOPIC, orders[next++], { delay: 0 });
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  await done;
  await queue.stop();
  const ms = performance.now() - startedAtMs;

  await queue.close();
  return ms;
}

/** The shortest timer there is, one a job; nothing encoded, leased or settled. */
async function fireTimers(orders: readonly Order[]): Promise<number> {
  const handled = new Countdown();
  const done = handled.expect(orders.length);
  const handle = (_order: Order): void => handled.hit();
  const startedAtMs = performance.now();
  for (const order of orders) setTimeout(() => handle(order), 1);
  await done;
  return performance.now() - startedAtMs;
}

export const scenario: Scenario = {
  title: 'throughput, 20 k jobs that are due, concurrency 100, a handler that does nothing',
  rounds: 7,
  measurements: {
    drain: (quick) => sampleOf(quick, drain),
    immediate: (quick) => sampleOf(quick, scheduleAndHandle),
    setTimeout: (quick) => sampleOf(quick, fireTimers),
  },
  figures: (rounds) => {
    const immediate = valuesOf(rounds, 'immediate', 'perS');
    const timers = valuesOf(rounds, 'setTimeout', 'perS');
    return [
      { name: 'drain', unit: 'jobs/s', values: valuesOf(rounds, 'drain', 'perS') },
      { name: 'schedule and handle, 200 calls in flight', unit: 'jobs/s', values: immediate },
      { name: 'setTimeout each, set and fired', unit: 'timers/s', values: timers },
      { name: 'schedule and handle against setTimeout', unit: 'x', values: ratiosOf(immediate, timers) },
    ];
  },
};
