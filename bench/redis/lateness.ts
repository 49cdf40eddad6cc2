import { percentile } from '../harness/measure.js';
import { type Sample, type Scenario, valuesOf } from '../harness/scenario.js';
import { orderOf, randomSource } from '../harness/workload.js';
import { openPeer, PEERS, type PeerName } from './peers.js';
import { Admin, Countdown, sleep } from './server.js';

const RATE_PER_S = 500;
const NEAR_JOBS = 100;

async function atRate(name: PeerName, count: number): Promise<readonly number[]> {
  const peer = await openPeer(name);
  const lateness: number[] = [];
  const handled = new Countdown(count);
  await peer.handle(100, ({ latenessMs }) => {
    lateness.push(latenessMs);
    handled.call();
  });
  await sleep(200);
  const random = randomSource(count);
  const startedAtMs = performance.now();
  for (let sent = 0; sent < count;) {
    const wanted = ((performance.now() - startedAtMs) * RATE_PER_S) / 1_000;
    for (; sent < count && sent < wanted; sent++) {
      void peer.one(orderOf(sent), 300 + Math.floor(random() * 700));
    }
    await sleep(1);
  }
  await handled.done;
  await peer.close();
  return lateness;
}

/** One near job at a time, while a far one is the head. */
async function nearBehindFar(name: PeerName, count: number): Promise<readonly number[]> {
  const peer = await openPeer(name);
  const lateness: number[] = [];
  let handled = (): void => undefined;
  await peer.one(orderOf(0), 3_600_000);
  await peer.handle(10, ({ latenessMs }) => {
    lateness.push(latenessMs);
    handled();
  });
  await sleep(200);
  for (let index = 0; index < count; index++) {
    const done = new Promise<void>((resolve) => (handled = resolve));
    await peer.one(orderOf(index), 10 + (index % 20));
    await done;
  }
  await peer.close();
  return lateness;
}

async function sampleOf(name: PeerName, quick: boolean): Promise<Sample> {
  const admin = new Admin();
  await admin.flush();
  const busy = await atRate(name, quick ? 500 : 3_000);
  await admin.flush();
  const near = await nearBehindFar(name, quick ? 20 : NEAR_JOBS);
  admin.close();
  return {
    p50: percentile(busy, 0.5),
    p99: percentile(busy, 0.99),
    early: busy.filter((latenessMs) => latenessMs < 0).length,
    near: percentile(near, 0.5),
  };
}

export const scenario: Scenario = {
  title: 'lateness: 500 jobs/s, and a near job behind a far one',
  rounds: 5,
  measurements: Object.fromEntries(PEERS.map((name) => [name, (quick: boolean) => sampleOf(name, quick)])),
  figures: (rounds) =>
    PEERS.flatMap((name) => [
      { name: `500/s p50: ${name}`, unit: 'ms', values: valuesOf(rounds, name, 'p50'), ...atMost(name, 0.8) },
      { name: `500/s p99: ${name}`, unit: 'ms', values: valuesOf(rounds, name, 'p99'), ...atMost(name, 3) },
      {
        name: `500/s early: ${name}`,
        unit: 'jobs',
        values: valuesOf(rounds, name, 'early'),
        ...atMost(name, 0),
      },
      { name: `near p50: ${name}`, unit: 'ms', values: valuesOf(rounds, name, 'near'), ...atMost(name, 1) },
    ]),
};

/** Targets are ours alone. */
function atMost(name: PeerName, most: number): { readonly target?: { readonly atMost: number } } {
  return name === 'queue' ? { target: { atMost: most } } : {};
}
