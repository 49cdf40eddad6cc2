import { afterEach, describe, expect, it } from '@jest/globals';
import { StoreUnavailableError } from '../../lib/delay-queue.errors.js';
import type { DelayQueueProvider, NewJob, ProviderNotice } from '../../lib/providers/delay-queue.provider.js';
import type { RedisProviderOptions } from '../../lib/providers/redis/redis.options.js';
import { openRedisProvider, startRedisInstance, TOPIC, until } from '../support/redis-instances.js';
import { hasRedisServer, RedisServer } from '../support/redis-server.js';

const jobs = (count: number, delayMs = 0): NewJob[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `job-${index}`,
    payload: `"${'x'.repeat(100)}"`,
    delayMs,
    at: undefined,
    ifExists: 'keep',
    maxWaitMs: undefined,
    extras: undefined,
  }));

(hasRedisServer ? describe : describe.skip)('a Redis server in trouble', () => {
  const cleanups: (() => Promise<void>)[] = [];

  const startServer = async (...args: string[]): Promise<RedisServer> => {
    const server = await RedisServer.start(args);
    cleanups.push(() => server.stop());
    return server;
  };
  const open = async (
    options: RedisProviderOptions,
  ): Promise<{ provider: DelayQueueProvider; notices: ProviderNotice[] }> => {
    const opened = await openRedisProvider(options);
    cleanups.push(() => opened.provider.close());
    return opened;
  };
  const start: typeof startRedisInstance = async (...args) => {
    const instance = await startRedisInstance(...args);
    cleanups.push(() => instance.runtime.close());
    return instance;
  };

  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  // B121
  it('loses nothing it acknowledged when it is killed and started again on its AOF', async () => {
    const server = await startServer('--appendonly', 'yes', '--appendfsync', 'always');
    const seen = new Set<string>();
    const { service } = await start({ connection: server.url }, ({ id }) => void seen.add(id), {
      lease: 1_000,
    });
    const acknowledged: string[] = [];
    const scheduling = (async () => {
      for (let index = 0; index < 400; index++) {
        const { id } = await service.schedule(
          TOPIC,
          {},
          { delay: index % 3 ? 100 : 1_000, id: `job-${index}` },
        );
        acknowledged.push(id);
      }
    })();

    await until('some are acknowledged', () => acknowledged.length > 50);
    await server.kill();
    await server.launch();
    await scheduling;

    await until('every acknowledged job has run', () => acknowledged.every((id) => seen.has(id)), 15_000);
    expect(acknowledged).toHaveLength(400);
  }, 30_000);

  // B103
  it('forgets its scripts, and nobody notices', async () => {
    const server = await startServer();
    const { provider } = await open({ connection: server.url });
    await provider.add(TOPIC, jobs(3));
    await server.command('SCRIPT', 'FLUSH');
    const { claims } = await provider.claim(TOPIC, { limit: 3, leaseMs: 10_000 });
    await server.command('SCRIPT', 'FLUSH');
    expect(await provider.renew(TOPIC, claims, 10_000)).toEqual(['renewed', 'renewed', 'renewed']);
    await server.command('SCRIPT', 'FLUSH');

    // A pipeline of calls that all find the script gone.
    const settled = await Promise.all(
      claims.map(({ id, token }) => provider.settle(TOPIC, [{ id, token, outcome: 'complete' }])),
    );

    expect(settled.flat()).toEqual(['settled', 'settled', 'settled']);
  });

  // B111
  it('loses everything to FLUSHALL, and works on: tokens still rise, old leases are lost', async () => {
    const server = await startServer();
    const { provider } = await open({ connection: server.url });
    await provider.add(TOPIC, jobs(1));
    const before = (await provider.claim(TOPIC, { limit: 1, leaseMs: 10_000 })).claims[0]!;
    await server.command('FLUSHALL');
    await provider.add(TOPIC, jobs(1));
    const after = (await provider.claim(TOPIC, { limit: 1, leaseMs: 10_000 })).claims[0]!;

    expect(after.token).toBeGreaterThan(before.token);
    expect(await provider.settle(TOPIC, [{ ...before, outcome: 'complete' }])).toEqual(['lease-lost']);
    expect(await provider.settle(TOPIC, [{ ...after, outcome: 'complete' }])).toEqual(['settled']);
    await provider.add(TOPIC, jobs(1));
    expect(await provider.topics()).toEqual([TOPIC]);
  });

  it('is full under noeviction: scheduling is refused, nothing is half written, running jobs settle', async () => {
    const server = await startServer('--maxmemory-policy', 'noeviction');
    const { provider } = await open({ connection: server.url });
    await provider.add(TOPIC, jobs(10));
    const { claims } = await provider.claim(TOPIC, { limit: 5, leaseMs: 10_000 });
    await server.command('CONFIG', 'SET', 'maxmemory', '1mb');

    await expect(provider.add(TOPIC, jobs(400, 1_000))).rejects.toThrow(/OOM/);
    await expect(provider.add(TOPIC, jobs(400, 1_000))).rejects.toBeInstanceOf(StoreUnavailableError);

    await server.command('CONFIG', 'SET', 'maxmemory', '0');
    expect(await provider.counts(TOPIC)).toMatchObject({ pending: 5, inFlight: 5 });
    expect((await provider.find(TOPIC, { state: 'pending', limit: 100 })).items).toHaveLength(5);
    const settled = await provider.settle(
      TOPIC,
      claims.map(({ id, token }) => ({ id, token, outcome: 'complete' })),
    );
    expect(settled).toEqual(['settled', 'settled', 'settled', 'settled', 'settled']);
  });

  // B105
  it('is demoted in place: waits, and goes on when it is a master again', async () => {
    const [server, master] = await Promise.all([startServer(), startServer()]);
    const { provider } = await open({ connection: server.url });
    await provider.add(TOPIC, jobs(1));
    await server.command('REPLICAOF', '127.0.0.1', master.port);

    const adding = provider.add(TOPIC, jobs(2, 1_000));
    setTimeout(() => void server.command('REPLICAOF', 'NO', 'ONE'), 300);

    expect((await adding).at(-1)?.status).toBe('scheduled');
  });

  // B107
  it('refuses writes with MISCONF: rejects at once, and tells the loss once', async () => {
    const server = await startServer('--enable-protected-configs', 'yes');
    const { service, events } = await start({ connection: server.url }, () => undefined);
    await server.command('CONFIG', 'SET', 'dir', '/proc');
    await server.command('CONFIG', 'SET', 'save', '3600 1');
    await server.command('SET', 'x', 'y');
    await server.command('BGSAVE').catch(() => undefined);
    await until('the save has failed', async () =>
      String(await server.command('INFO', 'persistence')).includes('rdb_last_bgsave_status:err'),
    );

    await expect(service.schedule(TOPIC, {}, { delay: 0 })).rejects.toThrow(/MISCONF/);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(events.filter(({ type }) => type === 'provider-lost').length).toBeLessThanOrEqual(1);

    await server.command('CONFIG', 'SET', 'save', '');
    await service.schedule(TOPIC, {}, { delay: 0 });
    await until('a job has run', () => events.some(({ type }) => type === 'completed'));
  });

  it('loads its data: what is asked meanwhile waits', async () => {
    const server = await startServer('--appendonly', 'yes', '--key-load-delay', '1000');
    const { provider } = await open({ connection: server.url });
    await provider.add(TOPIC, jobs(100, 60_000));
    await server.kill();
    await server.launch(false);

    expect((await provider.counts(TOPIC)).pending).toBe(100);
  });

  it('refuses the password: opening rejects with its words', async () => {
    const server = await startServer('--requirepass', 'right');
    const connection = { host: '127.0.0.1', port: server.port, password: 'wrong' };

    await expect(openRedisProvider({ connection })).rejects.toThrow(/WRONGPASS/);
    await expect(openRedisProvider({ connection: server.url })).rejects.toThrow(
      /NOAUTH|Authentication required/,
    );
    const { provider } = await open({ connection: { ...connection, password: 'right' } });
    await provider.add(TOPIC, jobs(1));
  });

  it('is not there: opening rejects within the time', async () => {
    const startedAt = performance.now();
    const opening = openRedisProvider({ connection: 'redis://127.0.0.1:1', commandTimeout: 300 });

    await expect(opening).rejects.toThrow(/"127.0.0.1:1|redis:\/\/127.0.0.1:1" did not answer within 300 ms/);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });

  // B109
  it.each([
    ['allkeys-lru', 1],
    ['noeviction', 0],
    ['volatile-lru', 0],
  ])('warns at boot of eviction policy %s: %d times', async (policy, warnings) => {
    const server = await startServer('--maxmemory-policy', policy);

    const { notices } = await open({ connection: server.url });

    expect(notices).toHaveLength(warnings);
    if (warnings > 0) expect(notices[0]).toMatchObject({ message: expect.stringContaining(policy) });
  });

  // B123
  it('serves a user with the documented commands and keys only', async () => {
    const server = await startServer();
    const rules =
      'on >secret resetkeys resetchannels -@all ~{dq:* &{dq:* +evalsha +eval +ping +subscribe +unsubscribe +quit ' +
      '+time +zadd +zrem +zrange +zrangebyscore +zcard +zcount +zscore ' +
      '+hset +hget +hmget +hdel +hlen +hvals +hgetall +hexists +exists +sadd +smembers +publish';
    await server.command('ACL', 'SETUSER', 'queue', ...rules.split(' '));
    const connection = {
      host: '127.0.0.1',
      port: server.port,
      username: 'queue',
      password: 'secret',
      enableReadyCheck: false,
    };
    const { provider, notices } = await open({ connection });

    provider.onWake(TOPIC, () => undefined);
    await provider.add(TOPIC, jobs(4));
    await provider.add(TOPIC, [{ ...jobs(1)[0]!, ifExists: 'replace' }]);
    const { claims } = await provider.claim(TOPIC, {
      limit: 3,
      leaseMs: 10_000,
      maxInFlight: 3,
      rate: { limit: 10, perMs: 1, burst: 10 },
    });
    const [a, b, c] = claims;
    await provider.cancel(TOPIC, [{ id: a!.id, abort: true }]);
    await provider.renew(TOPIC, claims, 10_000);
    await provider.add(TOPIC, jobs(3, 1_000));
    await provider.settle(TOPIC, [
      { ...a!, outcome: 'release' },
      { ...b!, outcome: 'dead-letter', extras: {} },
      { ...c!, outcome: 'retry', delayMs: 5, extras: {} },
    ]);
    await provider.reschedule(TOPIC, [{ id: 'job-3', delayMs: 9, at: undefined }]);
    await provider.counts(TOPIC);
    await provider.find(TOPIC, { state: 'pending', limit: 2 });
    await provider.get(TOPIC, 'job-3');
    await provider.setPaused(TOPIC, true);
    await provider.setPaused(TOPIC, false);
    await provider.writeSetting(TOPIC, 'a', 'b');
    await provider.readSettings(TOPIC);
    await provider.topics();
    const { items } = await provider.listDead(TOPIC, { limit: 10 });
    await provider.removeDead(TOPIC, [items[0]!.deadLetterId]);
    await provider.purgeDead(TOPIC, { keepNewest: 0, olderThanMs: 0 });

    // INFO is not among them: the one thing that is off.
    expect(notices).toHaveLength(1);
    expect(await server.command('ACL', 'LOG').then((log) => (log as unknown[]).length)).toBeLessThanOrEqual(
      2,
    );
  });

  // B127
  it('hands out 50 000 jobs that are due at once, without blocking for long', async () => {
    const server = await startServer('--slowlog-log-slower-than', '300000');
    const { provider } = await open({ connection: server.url });
    await provider.add(TOPIC, jobs(50_000, 1));
    let handled = 0;
    await start({ connection: server.url }, () => void handled++, { concurrency: 500 });

    await until('all have run', () => handled === 50_000, 20_000);

    await until('all are settled', async () => (await provider.counts(TOPIC)).inFlight === 0);
    expect((await server.command('SLOWLOG', 'GET')) as unknown[]).toEqual([]);
  }, 30_000);
});
