import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { StoreUnavailableError } from '../../lib/delay-queue.errors.js';
import type { DelayQueueProvider, NewJob } from '../../lib/providers/delay-queue.provider.js';
import { openRedisProvider, startRedisInstance, TOPIC, until } from '../support/redis-instances.js';
import { hasRedisServer, RedisServer } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const job = (fields: Partial<NewJob> = {}): NewJob => ({
  id: 'job-1',
  payload: '1',
  delayMs: 0,
  at: undefined,
  ifExists: 'reject',
  maxWaitMs: undefined,
  extras: undefined,
  ...fields,
});

(hasRedisServer ? describe : describe.skip)('the link to Redis', () => {
  let server: RedisServer;
  let proxy: TcpProxy;
  const closing: (() => Promise<void>)[] = [];

  const open = async (options = {}): Promise<DelayQueueProvider> => {
    const { provider } = await openRedisProvider({ connection: proxy.url, ...options });
    closing.push(() => provider.close());
    return provider;
  };
  /** With scripts that the server knows, so that the next answer is that of the operation. */
  const openWarm = async (): Promise<DelayQueueProvider> => {
    const provider = await open();
    await provider.add('warm', [job()]);
    const { claims } = await provider.claim('warm', { limit: 1, leaseMs: 1_000 });
    const [lease] = claims;
    await provider.settle('warm', [{ ...lease!, outcome: 'complete' }]);
    return provider;
  };
  const start: typeof startRedisInstance = async (...args) => {
    const instance = await startRedisInstance(...args);
    closing.push(() => instance.runtime.close());
    return instance;
  };

  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    await server.command('FLUSHALL');
    proxy = await TcpProxy.start(server.port);
  });
  afterEach(async () => {
    proxy.restore();
    await Promise.all(closing.splice(0).map((close) => close()));
    await proxy.close();
  });

  it('rejects within commandTimeout while the link is cut, and works once it is back', async () => {
    const provider = await open({ commandTimeout: 300 });
    proxy.cut();

    const startedAt = performance.now();
    await expect(provider.add(TOPIC, [job()])).rejects.toThrow(StoreUnavailableError);
    expect(performance.now() - startedAt).toBeLessThan(1_000);

    proxy.restore();
    await until('the link is back', () =>
      provider.counts(TOPIC).then(
        () => true,
        () => false,
      ),
    );
    expect((await provider.add(TOPIC, [job()]))[0]?.status).toBe('scheduled');
  });

  it('waits for a link that comes back in time', async () => {
    const provider = await open();
    proxy.cut();

    const adding = provider.add(TOPIC, [job()]);
    setTimeout(() => proxy.restore(), 200);

    expect((await adding)[0]?.status).toBe('scheduled');
  });

  it('waits as long as it takes with commandTimeout false, and rejects when closed', async () => {
    const provider = await open({ commandTimeout: false });
    proxy.cut();

    const adding = provider.add(TOPIC, [job()]);
    adding.catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await provider.close();

    await expect(adding).rejects.toMatchObject({ code: 'PROVIDER_CLOSED' });
  });

  it('rejects within commandTimeout when the link stalls, and goes on over a new one', async () => {
    const provider = await open({ commandTimeout: 300 });
    proxy.stall();

    await expect(provider.add(TOPIC, [job()])).rejects.toThrow(/did not answer within 300 ms/);

    proxy.restore();
    await until('the link is back', () =>
      provider.counts(TOPIC).then(
        () => true,
        () => false,
      ),
    );
  });

  // B063: the retry finds what the first try stored
  it('stores a job once when the answer to its scheduling is lost', async () => {
    const provider = await openWarm();
    await provider.counts(TOPIC);
    proxy.loseNextAnswer();

    const [result] = await provider.add(TOPIC, [job({ delayMs: 60_000 })]);

    expect(['scheduled', 'exists']).toContain(result?.status);
    expect((await provider.counts(TOPIC)).pending).toBe(1);
  });

  it('runs a job again after its lease when the answer to its claim is lost', async () => {
    const provider = await openWarm();
    await provider.add(TOPIC, [job()]);
    proxy.loseNextAnswer();

    await expect(provider.claim(TOPIC, { limit: 1, leaseMs: 100 })).rejects.toThrow(StoreUnavailableError);

    await until('the lease is over', async () => {
      const { claims } = await provider.claim(TOPIC, { limit: 1, leaseMs: 30_000 });
      return claims[0]?.attempt === 2;
    });
  });

  it('settles once when the answer is lost', async () => {
    const provider = await openWarm();
    await provider.add(TOPIC, [job()]);
    const { claims } = await provider.claim(TOPIC, { limit: 1, leaseMs: 30_000 });
    proxy.loseNextAnswer();

    await provider.settle(
      TOPIC,
      claims.map(({ id, token }) => ({ id, token, outcome: 'complete' })),
    );

    expect(await provider.counts(TOPIC)).toMatchObject({ pending: 0, inFlight: 0, dead: 0 });
  });

  it('keeps the lease of a running handler when the link returns in time', async () => {
    const tries: number[] = [];
    let end = (): void => undefined;
    const { service, events } = await start(
      { connection: proxy.url, commandTimeout: 500 },
      ({ attempt }) => {
        tries.push(attempt);
        return new Promise<void>((resolve) => (end = resolve));
      },
      { lease: 2_000 },
    );
    await service.schedule(TOPIC, {}, { delay: 0 });
    await until('the handler runs', () => tries.length === 1);

    proxy.cut();
    await new Promise((resolve) => setTimeout(resolve, 400));
    proxy.restore();
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    end();

    await until('it has completed', () => events.some(({ type }) => type === 'completed'));
    expect(tries).toEqual([1]);
  }, 20_000);

  // B089, B099, B101
  it('goes on by itself after the link was lost while it was idle', async () => {
    let runs = 0;
    const { service, events } = await start({ connection: proxy.url }, () => void runs++);
    proxy.cut();
    await until('the loss is told', () => events.some(({ type }) => type === 'provider-lost'));
    proxy.restore();
    await until('the return is told', () => events.some(({ type }) => type === 'provider-recovered'));

    await service.schedule(TOPIC, {}, { delay: 50 });

    await until('the job has run', () => runs === 1, 5_000);
  });

  // B095
  it('hears of new jobs again after its subscription was killed', async () => {
    let runs = 0;
    const { service } = await start({ connection: server.url }, () => void runs++);
    await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await until('it has subscribed again', async () => {
      const channels = (await server.command('PUBSUB', 'CHANNELS', '*')) as string[];
      return channels.length === 1;
    });

    const startedAt = performance.now();
    await service.schedule(TOPIC, {}, { delay: 0 });
    await until('the job has run', () => runs === 1, 5_000);

    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });

  it('finds jobs whose hint was lost at the next recheck', async () => {
    let runs = 0;
    await start({ connection: server.url, recheck: 1_000 }, () => void runs++);
    const { provider } = await openRedisProvider({ connection: server.url });
    closing.push(() => provider.close());
    await provider.setPaused(TOPIC, true);
    await provider.add(TOPIC, [job()]);

    // Unpaused behind everyone's back, so that no hint goes out.
    await server.command('HDEL', `{dq:default:${TOPIC}}:meta`, 'paused');

    await until('the job has run', () => runs === 1, 4_000);
  });

  it('closes within a second whatever the link does, and leaves nothing behind', async () => {
    for (const trouble of ['cut', 'stall'] as const) {
      const { provider } = await openRedisProvider({ connection: proxy.url });
      proxy[trouble]();
      await new Promise((resolve) => setTimeout(resolve, 20));
      const startedAt = performance.now();

      await provider.close();

      expect(performance.now() - startedAt).toBeLessThan(1_000);
      proxy.restore();
    }
  });
});
