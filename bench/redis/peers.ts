import { createRequire } from 'node:module';
import { join } from 'node:path';
import { RedisProvider } from '../../lib/providers/redis/redis.provider.js';
import { addHandler, openQueue, TOPIC } from '../harness/queue.js';
import type { Order } from '../harness/workload.js';

/** Where the server of this run listens; set by `main.ts`. */
export const REDIS_PORT = Number(process.env['BENCH_REDIS_PORT']);

export interface Handled {
  readonly latenessMs: number;
}

/** One process of an application: what schedules, and what handles. */
export interface Peer {
  /** All at once, in the way the library offers for many jobs. */
  bulk(orders: readonly Order[], delayMs: number): Promise<void>;
  one(order: Order, delayMs: number): Promise<unknown>;
  /** Begins to handle; resolves once it is ready. */
  handle(concurrency: number, handle: (handled: Handled) => void): Promise<void>;
  close(): Promise<void>;
}

export type PeerName = 'queue' | 'bullmq' | 'bee-queue';
export const PEERS: readonly PeerName[] = ['queue', 'bullmq', 'bee-queue'];

export function openPeer(name: PeerName): Promise<Peer> {
  switch (name) {
    case 'queue':
      return openOwn();
    case 'bullmq':
      return openBullmq();
    case 'bee-queue':
      return openBee();
    default:
      return name satisfies never;
  }
}

async function openOwn(): Promise<Peer> {
  const queue = await openQueue({
    provider: new RedisProvider({ connection: `redis://127.0.0.1:${REDIS_PORT}` }),
  });
  return {
    bulk: async (orders, delay) => {
      await queue.service.scheduleMany(orders.map((payload) => ({ topic: TOPIC, payload, delay })));
    },
    one: (order, delay) => queue.service.schedule(TOPIC, order, { delay }),
    handle: async (concurrency, handle) => {
      addHandler(queue, concurrency, (_, { latenessMs }) => handle({ latenessMs }));
      await queue.start();
    },
    close: () => queue.close(),
  };
}

interface BullJob {
  readonly timestamp: number;
  readonly delay: number;
  readonly opts: { readonly delay?: number };
}
interface BullQueue {
  add(name: string, data: unknown, options: object): Promise<unknown>;
  addBulk(jobs: readonly object[]): Promise<unknown>;
  waitUntilReady(): Promise<unknown>;
  close(): Promise<void>;
}
interface Bull {
  readonly Queue: new (name: string, options: object) => BullQueue;
  readonly Worker: new (name: string, handle: (job: BullJob) => Promise<void>, options: object) => BullQueue;
}

/** Bulk calls of this size were the fastest for it. */
const BULL_BATCH = 1_000;

async function openBullmq(): Promise<Peer> {
  const { Queue, Worker } = loadPeer('bullmq') as Bull;
  const connection = { host: '127.0.0.1', port: REDIS_PORT, maxRetriesPerRequest: null };
  const queue = new Queue(TOPIC, { connection });
  await queue.waitUntilReady();
  const open: BullQueue[] = [queue];
  const options = (delay: number): object => ({ removeOnComplete: true, ...(delay > 0 && { delay }) });
  return {
    bulk: async (orders, delay) => {
      for (let from = 0; from < orders.length; from += BULL_BATCH) {
        const batch = orders.slice(from, from + BULL_BATCH);
        await queue.addBulk(batch.map((data) => ({ name: 'order', data, opts: options(delay) })));
      }
    },
    one: (order, delay) => queue.add('order', order, options(delay)),
    handle: async (concurrency, handle) => {
      const run = async ({ timestamp, opts }: BullJob): Promise<void> =>
        handle({ latenessMs: performance.timeOrigin + performance.now() - timestamp - (opts.delay ?? 0) });
      const worker = new Worker(TOPIC, run, { connection, concurrency });
      open.push(worker);
      await worker.waitUntilReady();
    },
    close: async () => {
      for (const part of open.toReversed()) await part.close();
    },
  };
}

interface BeeJob {
  readonly data: { readonly dueAt: number };
  delayUntil(at: number): BeeJob;
  save(): Promise<unknown>;
}
interface BeeQueue {
  createJob(data: object): BeeJob;
  saveAll(jobs: readonly BeeJob[]): Promise<unknown>;
  process(concurrency: number, handle: (job: BeeJob) => Promise<void>): void;
  ready(): Promise<unknown>;
  close(timeoutMs: number): Promise<void>;
}

async function openBee(): Promise<Peer> {
  const Bee = loadPeer('bee-queue') as new (name: string, options: object) => BeeQueue;
  const queue = new Bee(TOPIC, {
    redis: { host: '127.0.0.1', port: REDIS_PORT },
    activateDelayedJobs: true,
    removeOnSuccess: true,
  });
  await queue.ready();
  const jobOf = (order: Order, delayMs: number): BeeJob => {
    const dueAt = Date.now() + delayMs;
    const job = queue.createJob({ ...order, dueAt });
    return delayMs > 0 ? job.delayUntil(dueAt) : job;
  };
  return {
    bulk: async (orders, delay) => void (await queue.saveAll(orders.map((order) => jobOf(order, delay)))),
    one: (order, delay) => jobOf(order, delay).save(),
    handle: async (concurrency, handle) => {
      queue.process(concurrency, async ({ data: { dueAt } }) =>
        handle({ latenessMs: performance.timeOrigin + performance.now() - dueAt }),
      );
    },
    close: () => queue.close(1_000),
  };
}

/** From the repository, or from the folder that `BENCH_PEERS` names. */
function loadPeer(name: string): unknown {
  const require = createRequire(join(process.env['BENCH_PEERS'] ?? process.cwd(), 'index.js'));
  return require(name);
}
