import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { DelayQueueProvider, NewJob, ProviderNotice } from '../../lib/providers/delay-queue.provider.js';
import { openRedisProvider, TOPIC, until } from '../support/redis-instances.js';
import { hasRedisServer, RedisServer } from '../support/redis-server.js';

const TAG = `{dq:default:${TOPIC}}`;
const ORDER = Buffer.from([0, 6, 0, 0, 0, 0, 1]);

const job = (id: string): NewJob => ({
  id,
  payload: `"${id}"`,
  delayMs: 0,
  at: undefined,
  ifExists: 'keep',
  maxWaitMs: undefined,
  extras: undefined,
});

(hasRedisServer ? describe : describe.skip)('records in Redis', () => {
  let server: RedisServer;
  let admin: Redis;
  let provider: DelayQueueProvider;
  let notices: ProviderNotice[];

  beforeAll(async () => {
    server = await RedisServer.start();
    admin = new Redis(server.url);
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });
  beforeEach(async () => {
    await admin.flushall();
    ({ provider, notices } = await openRedisProvider({ connection: server.url }));
  });
  afterEach(() => provider.close());

  /** Puts something in the place of a job. */
  const seed = async (id: string, record: string | Buffer | undefined): Promise<void> => {
    await admin.zadd(`${TAG}:due`, 1, Buffer.concat([ORDER, Buffer.from(id)]));
    if (record !== undefined) await admin.hset(`${TAG}:jobs`, id, record);
  };
  const claim = () => provider.claim(TOPIC, { limit: 100, leaseMs: 10_000 });

  // B057
  it.each([
    ['plain garbage', '\u0000\u0001garbage'],
    ['a record of a later version', Buffer.concat([Buffer.from('9'), ORDER, Buffer.from(';{}')])],
    ['a record cut short', '1abc'],
    ['nothing', undefined],
  ])('sets %s aside with a notice, hands out the others, and is done with it', async (_, record) => {
    await seed('bad', record);
    await provider.add(TOPIC, [job('good')]);

    const first = await claim();
    const second = await claim();

    expect(first.claims.map(({ id }) => id)).toEqual(['good']);
    expect(second.claims).toEqual([]);
    expect(notices).toEqual([{ type: 'jobs-set-aside', topic: TOPIC, count: 1 }]);
    const { items } = await provider.listDead(TOPIC, { limit: 10 });
    expect(items).toHaveLength(1);
    expect(items[0]).toMatchObject({ id: 'bad', extras: { deadReason: 'unreadable' } });
    if (typeof record === 'string') expect(items[0]?.payload).toBe(record);
    expect(await provider.counts(TOPIC)).toMatchObject({ pending: 0, inFlight: 1, dead: 1 });
  });

  it('reads a record of the version before', async () => {
    await seed('old', Buffer.concat([Buffer.from('0'), ORDER, Buffer.from('{"old":true}')]));

    const { claims } = await claim();

    expect(claims).toHaveLength(1);
    expect(claims[0]).toMatchObject({ id: 'old', payload: '{"old":true}', attempt: 1 });
    expect(
      await provider.settle(TOPIC, [{ ...claims[0]!, outcome: 'retry', delayMs: 0, extras: undefined }]),
    ).toEqual(['settled']);
    expect((await claim()).claims[0]).toMatchObject({ id: 'old', payload: '{"old":true}', attempt: 2 });
  });

  it('lets a member of the due set that is none be', async () => {
    await admin.zadd(`${TAG}:due`, 0, 'x');
    await provider.add(TOPIC, [job('good')]);

    expect((await claim()).claims.map(({ id }) => id)).toEqual(['good']);
    expect((await claim()).nextWakeInMs).toBeGreaterThan(0);
  });

  it('takes a lease that cannot be read for none', async () => {
    await provider.add(TOPIC, [job('a')]);
    await admin.hset(`${TAG}:leases`, 'a', 'garbage');

    expect((await claim()).claims.map(({ id }) => id)).toEqual(['a']);
  });

  it('rejects where a key is of another type, and is well again once it is gone', async () => {
    await admin.set(`${TAG}:jobs`, 'a string');

    await expect(provider.add(TOPIC, [job('a')])).rejects.toThrow(/WRONGTYPE/);

    await admin.del(`${TAG}:jobs`);
    expect((await provider.add(TOPIC, [job('a')]))[0]?.status).toBe('scheduled');
  });

  // B129
  it.each(['9007199254740993', '99999999999999999999', 'garbage'])(
    'gives every lease a token of its own with %s as the last number',
    async (last) => {
      await admin.hset(`${TAG}:meta`, 'last', last);
      await provider.add(TOPIC, [job('a'), job('b'), job('c')]);

      const { claims } = await claim();

      expect(new Set(claims.map(({ token }) => token)).size).toBe(3);
      expect(claims.every(({ token }) => Number.isSafeInteger(token))).toBe(true);
    },
  );

  // B117, B155, B157
  it('writes no key outside its prefix, and one slot a topic, whatever the names', async () => {
    for (const topic of ['{x}', 'a{b}c', '}{', '{}', 'a:b', 'a', 'x#1', '%7b']) {
      await provider.add(topic, [job('{y}'), job('z:{')]);
      await provider.writeSetting(topic, 'a', '1');
    }

    const keys = await admin.keys('*');

    expect(keys.filter((key) => !/^\{dq:default(:[^{}:]+)?\}:[a-z]+$/.test(key))).toEqual([]);
    expect(keys.filter((key) => key.endsWith(':due'))).toHaveLength(8);
  });

  // B117
  it('puts the keyPrefix of a client of the user in front of everything', async () => {
    const client = new Redis(server.url, { keyPrefix: 'x:' });
    const prefixed = await openRedisProvider({ connection: client });
    let wakes = 0;
    prefixed.provider.onWake(TOPIC, () => wakes++);
    await prefixed.provider.claim(TOPIC, { limit: 1, leaseMs: 1_000 });

    await prefixed.provider.add(TOPIC, [job('a')]);

    expect((await admin.keys('*')).every((key) => key.startsWith('x:{dq:'))).toBe(true);
    await until('the hint has come', () => wakes > 0);
    await prefixed.provider.close();
    expect(client.status).toBe('ready');
    client.disconnect();
  });

  it('keeps a pending job in 320 bytes', async () => {
    const { generateJobId } = await import('../../lib/schedule/job-id.js');
    const used = async () => Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1]);
    await provider.add(TOPIC, [{ ...job('warm'), delayMs: 1e9 }]);
    const before = await used();
    const payload = JSON.stringify({ text: 'x'.repeat(99) });
    const count = 100_000;
    await provider.add(
      TOPIC,
      Array.from({ length: count }, () => ({ ...job(generateJobId()), payload, delayMs: 1e9 })),
    );

    expect(payload).toHaveLength(110);
    expect(((await used()) - before) / count).toBeLessThanOrEqual(320);
  });
});
