import { writeFileSync } from 'node:fs';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { startRedisInstance, TOPIC, until } from '../support/redis-instances.js';
import { hasRedisServer, RedisServer, sparePort } from '../support/redis-server.js';

/** One sentinel that watches one master, and promotes a replica soon after it is gone. */
async function startSentinel(masterPort: number): Promise<{ port: number; stop: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'delay-queue-sentinel-'));
  const port = await sparePort();
  const config = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor mymaster 127.0.0.1 ${masterPort} 1`,
    'sentinel down-after-milliseconds mymaster 500',
    'sentinel failover-timeout mymaster 5000',
  ];
  writeFileSync(join(folder, 'sentinel.conf'), config.join('\n'));
  const child: ChildProcess = spawn('redis-server', [join(folder, 'sentinel.conf'), '--sentinel'], {
    stdio: 'ignore',
  });
  const stop = async (): Promise<void> => {
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
  return { port, stop };
}

(hasRedisServer ? describe : describe.skip)('Redis behind a sentinel', () => {
  const cleanups: (() => Promise<void>)[] = [];

  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  it('goes on with the promoted replica, and loses nothing that replica confirmed', async () => {
    const master = await RedisServer.start(['--repl-diskless-sync-delay', '0']);
    cleanups.push(() => master.stop());
    const replica = await RedisServer.start(['--replicaof', '127.0.0.1', String(master.port)]);
    cleanups.push(() => replica.stop());
    await until('the replica is in step', async () =>
      String(await replica.command('INFO', 'replication')).includes('master_link_status:up'),
    );
    const sentinel = await startSentinel(master.port);
    cleanups.push(() => sentinel.stop());
    const seen = new Set<string>();
    const connection = { sentinels: [{ host: '127.0.0.1', port: sentinel.port }], name: 'mymaster' };
    const { runtime, service } = await startRedisInstance(
      { connection, replicas: 1, commandTimeout: 20_000 },
      ({ id }) => void seen.add(id),
      { lease: 2_000 },
    );
    cleanups.push(() => runtime.close());
    const acknowledged: string[] = [];
    for (let index = 0; index < 50; index++) {
      acknowledged.push((await service.schedule(TOPIC, {}, { delay: 1_500, id: `${index}` })).id);
    }
    await until('the sentinel knows the replica', async () => {
      const { Redis } = await import('ioredis');
      const client = new Redis(sentinel.port, '127.0.0.1');
      const known = (await client.call('SENTINEL', 'REPLICAS', 'mymaster')) as unknown[];
      client.disconnect();
      return known.length === 1;
    });

    await master.kill();

    await until('all have run', () => acknowledged.every((id) => seen.has(id)), 30_000);
    expect(seen.size).toBe(50);
  }, 60_000);
});
