import { percentile } from '../harness/measure.js';
import { type Sample, type Scenario, valuesOf } from '../harness/scenario.js';
import { orderOf } from '../harness/workload.js';
import { openPeer, PEERS, type PeerName } from './peers.js';
import { Admin, sleep } from './server.js';

const INSTANCES = 20;
const FAR_MS = 3_600_000;
const WATCH_MS = 40_000;

/** One job at a time on a topic that many instances handle. */
async function sparse(name: PeerName, admin: Admin, jobs: number): Promise<Sample> {
  const lateness: number[] = [];
  let handled = (): void => undefined;
  const peers = await Promise.all(Array.from({ length: INSTANCES }, () => openPeer(name)));
  for (const peer of peers) {
    await peer.handle(10, ({ latenessMs }) => {
      lateness.push(latenessMs);
      handled();
    });
  }
  const producer = await openPeer(name);
  const runOne = async (index: number): Promise<void> => {
    const done = new Promise<void>((resolve) => (handled = resolve));
    await producer.one(orderOf(index), 100);
    await done;
    await sleep(100);
  };
  await runOne(0);
  await sleep(1_000);
  lateness.length = 0;
  const before = await admin.commands();
  for (let index = 0; index < jobs; index++) await runOne(index);
  const commands = (await admin.commands()) - before - 1;
  for (const peer of [...peers, producer]) await peer.close();
  return { commandsPerJob: commands / jobs, sparseP50: percentile(lateness, 0.5) };
}

async function farBacklog(name: PeerName, admin: Admin, ms: number): Promise<number> {
  const peer = await openPeer(name);
  await peer.bulk(
    Array.from({ length: 1_000 }, (_, index) => orderOf(index)),
    FAR_MS,
  );
  await peer.handle(10, () => undefined);
  await sleep(1_000);
  const before = await admin.commands();
  await sleep(ms);
  const commands = (await admin.commands()) - before - 1;
  await peer.close();
  return commands / (ms / 1_000);
}

/** Bytes a pending job takes, of many. */
async function bytesPerJob(name: PeerName, admin: Admin, count: number): Promise<number> {
  const peer = await openPeer(name);
  await peer.bulk([orderOf(0)], FAR_MS);
  const before = await admin.memory();
  await peer.bulk(
    Array.from({ length: count }, (_, index) => orderOf(index)),
    FAR_MS,
  );
  await sleep(200);
  const bytes = ((await admin.memory()) - before) / count;
  await peer.close();
  return bytes;
}

async function sampleOf(name: PeerName, quick: boolean): Promise<Sample> {
  const admin = new Admin();
  await admin.flush();
  const bytes = await bytesPerJob(name, admin, quick ? 10_000 : 100_000);
  await admin.flush();
  const found = await sparse(name, admin, quick ? 5 : 50);
  await admin.flush();
  const idlePerS = await farBacklog(name, admin, quick ? 5_000 : WATCH_MS);
  await admin.flush();
  admin.close();
  return { ...found, idlePerS, bytes };
}

const FIGURES = [
  ['commandsPerJob', 'commands a sparse job, 20 instances', '', 25],
  ['sparseP50', 'lateness of a sparse job p50, 20 instances', 'ms', 2],
  ['idlePerS', 'commands of one idle instance, far backlog', '/s', 0.3],
  ['bytes', 'Redis memory per pending job', 'B', 320],
] as const;

export const scenario: Scenario = {
  title: 'load of idle instances, and memory',
  rounds: 3,
  measurements: Object.fromEntries(PEERS.map((name) => [name, (quick: boolean) => sampleOf(name, quick)])),
  figures: (rounds) =>
    FIGURES.flatMap(([key, title, unit, atMost]) =>
      PEERS.map((name) => ({
        name: `${title}: ${name}`,
        unit,
        values: valuesOf(rounds, name, key),
        ...(name === 'queue' && { target: { atMost } }),
      })),
    ),
};
