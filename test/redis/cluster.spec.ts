import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { NewJob } from '../../lib/providers/delay-queue.provider.js';
import type { RedisProviderOptions } from '../../lib/providers/redis/redis.options.js';
import { RedisCluster } from '../support/redis-cluster.js';
import { openRedisProvider, startRedisInstance, TOPIC, until } from '../support/redis-instances.js';
import { hasRedisServer } from '../support/redis-server.js';

const job = (id: string, delayMs = 0): NewJob => ({
  id,
  payload: '{}',
  delayMs,
  at: undefined,
  ifExists: 'keep',
  maxWaitMs: undefined,
  extras: undefined,
});

(hasRedisServer ? describe : describe.skip)('a Redis Cluster', () => {
  let cluster: RedisCluster;
  let prefixes = 0;
  const cleanups: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    cluster = await RedisCluster.start();
  }, 60_000);
  afterAll(() => cluster.stop());
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  const options = (more: RedisProviderOptions = {}): RedisProviderOptions => ({
    connection: { nodes: cluster.nodes },
    prefix: `p${prefixes++}`,
    commandTimeout: 20_000,
    ...more,
  });
  const start: typeof startRedisInstance = async (...args) => {
    const instance = await startRedisInstance(...args);
    cleanups.push(() => instance.runtime.close());
    return instance;
  };

  // B113
  it('does everything on topics whose slots lie on different nodes', async () => {
    const { provider } = await openRedisProvider(options());
    cleanups.push(() => provider.close());
    const topics = Array.from({ length: 12 }, (_, index) => `topic-${index}`);

    for (const topic of topics) {
      await provider.add(topic, [job('a'), job('b'), job('c', 60_000)]);
      const { claims } = await provider.claim(topic, { limit: 10, leaseMs: 10_000 });
      const [a, b] = claims;
      expect(await provider.renew(topic, claims, 10_000)).toEqual(['renewed', 'renewed']);
      expect(
        await provider.settle(topic, [
          { ...a!, outcome: 'complete' },
          { ...b!, outcome: 'dead-letter', extras: undefined },
        ]),
      ).toEqual(['settled', 'settled']);
      expect(await provider.reschedule(topic, [{ id: 'c', delayMs: 1, at: undefined }])).toEqual([
        'rescheduled',
      ]);
      expect(await provider.cancel(topic, [{ id: 'c', abort: false }])).toEqual(['cancelled']);
      expect((await provider.listDead(topic, { limit: 10 })).items).toHaveLength(1);
      expect(await provider.counts(topic)).toMatchObject({ pending: 0, inFlight: 0, dead: 1 });
    }
    expect((await provider.topics()).toSorted()).toEqual(topics.toSorted());
  }, 30_000);

  it('wakes instances by sharded Pub/Sub', async () => {
    const more = options();
    const lateness: number[] = [];
    await start(more, ({ latenessMs }) => void lateness.push(latenessMs));
    const { service } = await start(more);
    await until('the subscription is there', async () => {
      const channels = await Promise.all(
        cluster.masters.map((master) => master.command('PUBSUB', 'SHARDCHANNELS')),
      );
      return channels.flat().length > 0;
    });

    await service.schedule(TOPIC, {}, { delay: 200 });

    await until('the job has run', () => lateness.length === 1, 5_000);
    expect(lateness[0]).toBeLessThan(100);
  }, 30_000);

  it('spreads the parts of one topic over all masters', async () => {
    const more = options({ partitions: 12 });
    const seen = new Set<string>();
    const { service } = await start(more, ({ id }) => void seen.add(id), { concurrency: 50 });

    await service.scheduleMany(
      Array.from({ length: 600 }, (_, index) => ({
        topic: TOPIC,
        payload: {},
        delay: index % 7,
        id: `${index}`,
      })),
    );

    await until('all have run', () => seen.size === 600, 15_000);
    const held = await Promise.all(
      cluster.masters.map(async (master) => (await master.command('KEYS', `{${more.prefix}:*`)) as string[]),
    );
    expect(held.every((keys) => keys.some((key) => key.endsWith(':meta')))).toBe(true);
    expect((await service.stats(TOPIC)).pending).toBe(0);
  }, 30_000);

  // B115
  it('loses no job and fails none while the slot of a busy topic moves', async () => {
    const more = options();
    const seen = new Set<string>();
    // A claim whose reply is lost while the slot moves comes back when its lease ends.
    const { service, events } = await start(more, ({ id }) => void seen.add(id), { lease: 2_000 });
    const key = `{${more.prefix}:default:${TOPIC}}:due`;
    const acknowledged: string[] = [];
    const moving = new AbortController();
    const scheduling = (async () => {
      for (let index = 0; !moving.signal.aborted || index < 200; index++) {
        acknowledged.push((await service.schedule(TOPIC, {}, { delay: index % 50, id: `${index}` })).id);
      }
    })();
    await until('jobs run', () => seen.size > 20);

    await cluster.migrate(key, 20);
    moving.abort();
    await scheduling;

    await until('all have run', () => acknowledged.every((id) => seen.has(id)), 40_000);
    expect(events.filter(({ type }) => type === 'dead-lettered' || type === 'retried')).toEqual([]);
  }, 60_000);

  it('loses nothing confirmed by a replica when a master is killed and its replica promoted', async () => {
    const more = options({ replicas: 1, prefix: `failover${prefixes++}` });
    const seen = new Set<string>();
    const { service } = await start(more, ({ id }) => void seen.add(id), { lease: 2_000 });
    const master = await cluster.masterOf(`{${more.prefix}:default:${TOPIC}}:due`);
    const acknowledged: string[] = [];
    for (let index = 0; index < 50; index++) {
      acknowledged.push((await service.schedule(TOPIC, {}, { delay: 1_000, id: `${index}` })).id);
    }

    await master.kill();

    await until('all have run', () => acknowledged.every((id) => seen.has(id)), 30_000);
    await service.stats(TOPIC);
  }, 60_000);
});
