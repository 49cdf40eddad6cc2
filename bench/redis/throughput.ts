import { rate, timed } from '../harness/measure.js';
import { ratiosOf, type Sample, type Scenario, valuesOf } from '../harness/scenario.js';
import { type Order, orderOf } from '../harness/workload.js';
import { openPeer, PEERS, type Peer, type PeerName } from './peers.js';
import { Admin, Countdown } from './server.js';

const HOUR_MS = 3_600_000;
const CALLERS = 200;
const CONCURRENCY = 100;

type Work = (name: PeerName, orders: readonly Order[]) => Promise<number>;

/** Duration of what `act` does with one opened peer, ms. */
const withPeer = async (name: PeerName, act: (peer: Peer) => Promise<number>): Promise<number> => {
  const peer = await openPeer(name);
  try {
    return await act(peer);
  } finally {
    await peer.close();
  }
};

async function scheduleAll(peer: Peer, orders: readonly Order[], delayMs: number): Promise<void> {
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < orders.length) await peer.one(orders[next++]!, delayMs);
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
}

const bulk: Work = (name, orders) => withPeer(name, (peer) => timed(() => peer.bulk(orders, HOUR_MS)));

const single: Work = (name, orders) =>
  withPeer(name, (peer) => timed(() => scheduleAll(peer, orders, HOUR_MS)));

/** From the first claim to the last job handled. */
const drain: Work = (name, orders) =>
  withPeer(name, async (peer) => {
    await peer.bulk(orders, 0);
    const handled = new Countdown(orders.length);
    return timed(async () => {
      await peer.handle(CONCURRENCY, handled.call);
      await handled.done;
    });
  });

/** From the first call to the last job handled. */
const immediate: Work = (name, orders) =>
  withPeer(name, async (peer) => {
    const handled = new Countdown(orders.length);
    await peer.handle(CONCURRENCY, handled.call);
    return timed(async () => {
      await scheduleAll(peer, orders, 0);
      await handled.done;
    });
  });

const WORKS = { bulk, single, drain, immediate } as const;
const TARGETS: Readonly<Record<keyof typeof WORKS, number>> = { bulk: 10, single: 5, drain: 8, immediate: 6 };
const COUNTS: Readonly<Record<keyof typeof WORKS, number>> = {
  bulk: 100_000,
  single: 50_000,
  drain: 20_000,
  immediate: 20_000,
};
const NAMES = Object.keys(WORKS) as (keyof typeof WORKS)[];

/** The second pass counts: the first finds code uncompiled and scripts unknown. */
async function sampleOf(name: PeerName, quick: boolean): Promise<Sample> {
  const admin = new Admin();
  const sample: Record<string, number> = {};
  for (const work of NAMES) {
    const count = quick ? COUNTS[work] / 10 : COUNTS[work];
    const orders = Array.from({ length: count }, (_, index) => orderOf(index));
    for (const part of [orders.slice(0, count / 5), orders]) {
      await admin.flush();
      sample[work] = rate(part.length, await WORKS[work](name, part));
    }
  }
  admin.close();
  return sample;
}

export const scenario: Scenario = {
  title: 'throughput, one process: bulk 100 k, single calls 200 in flight, drain and immediate 20 k',
  rounds: 5,
  measurements: Object.fromEntries(PEERS.map((name) => [name, (quick: boolean) => sampleOf(name, quick)])),
  figures: (rounds) =>
    NAMES.flatMap((work) => [
      ...PEERS.map((name) => ({
        name: `${work}: ${name}`,
        unit: 'jobs/s',
        values: valuesOf(rounds, name, work),
      })),
      {
        name: `${work}: against bullmq`,
        unit: 'x',
        values: ratiosOf(valuesOf(rounds, 'queue', work), valuesOf(rounds, 'bullmq', work)),
        target: { atLeast: TARGETS[work] },
      },
    ]),
};
