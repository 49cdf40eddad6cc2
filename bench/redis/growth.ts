import { timed } from '../harness/measure.js';
import { ratiosOf, type Sample, type Scenario, valuesOf } from '../harness/scenario.js';
import { orderOf } from '../harness/workload.js';
import { openPeer } from './peers.js';
import { Admin, Countdown } from './server.js';

const FAR_MS = 30 * 86_400_000;
const BATCH = 20_000;
const MEASURED = 20_000;
const REPEATS = 3;

/** Time to schedule and handle a fixed number of jobs while `backlog` others wait, ms; the least of a few. */
async function costAt(backlog: number): Promise<Sample> {
  const admin = new Admin();
  await admin.flush();
  const peer = await openPeer('queue');
  for (let from = 0; from < backlog; from += BATCH) {
    const count = Math.min(BATCH, backlog - from);
    await peer.bulk(
      Array.from({ length: count }, (_, index) => orderOf(from + index)),
      FAR_MS,
    );
  }
  const orders = Array.from({ length: MEASURED }, (_, index) => orderOf(index));
  let handled = new Countdown(0);
  await peer.handle(100, () => handled.call());
  let ms = Infinity;
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    handled = new Countdown(MEASURED);
    ms = Math.min(
      ms,
      await timed(async () => {
        await peer.bulk(orders, 0);
        await handled.done;
      }),
    );
  }
  await peer.close();
  await admin.flush();
  admin.close();
  return { ms };
}

export const scenario: Scenario = {
  title: 'growth: schedule and handle 20 k jobs while others wait',
  rounds: 3,
  measurements: {
    few: () => costAt(10_000),
    many: (quick) => costAt(quick ? 100_000 : 1_000_000),
  },
  figures: (rounds) => [
    { name: '10 k others', unit: 'ms', values: valuesOf(rounds, 'few', 'ms') },
    { name: '1 M others', unit: 'ms', values: valuesOf(rounds, 'many', 'ms') },
    {
      name: '1 M against 10 k',
      unit: 'x',
      values: ratiosOf(valuesOf(rounds, 'many', 'ms'), valuesOf(rounds, 'few', 'ms')),
      target: { atMost: 1.3 },
    },
  ],
};
