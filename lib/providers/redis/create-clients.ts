import { InvalidOptionsError } from '../../delay-queue.errors.js';
import {
  isCluster,
  isRedisLike,
  type RedisClientOptions,
  type RedisClusterConnection,
  type RedisClient,
} from './redis-like.js';
import type { ResolvedRedisOptions } from './redis.options.js';

/** The two connections of an instance. */
export interface Clients {
  readonly commands: RedisClient;
  readonly subscriber: RedisClient;
  /** False for a client that the user made and goes on using. */
  readonly ownsCommands: boolean;
  /** For messages; without a password. */
  readonly address: string;
  /** Put in front of keys, and to be put in front of channels, by a client of the user's own. */
  readonly keyPrefix: string;
}

type Ioredis = Pick<typeof import('ioredis'), 'Redis' | 'Cluster'>;

/** What every client of this module's own gets, beside what the user asks for. */
const COMMON = {
  lazyConnect: true,
  // Half-open connections of idle subscribers are noticed by the kernel.
  keepAlive: 10_000,
  retryStrategy: (attempt: number) =>
    Math.min(1_000, 50 * 2 ** Math.min(attempt, 6)) * (0.5 + Math.random() / 2),
};

/** Commands wait for the link in this module, where they can be given up; in the client they would be sent for no one. */
const COMMANDS = {
  // Demoted in place behind the same name: look the name up again.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
};
const SUBSCRIBER = { enableOfflineQueue: true, maxRetriesPerRequest: null };

/**
 * Makes the clients of one instance; they are not connected yet.
 * @throws InvalidOptionsError without ioredis, or for a client that cannot be duplicated
 */
export async function createClients({
  connection,
  commandTimeoutMs,
}: ResolvedRedisOptions): Promise<Clients> {
  const given = typeof connection === 'function' ? await connection() : connection;
  if (isRedisLike(given)) return wrapClient(given, typeof connection === 'function');
  const ioredis = await loadIoredis();
  if (isCluster(given)) return createCluster(ioredis, given);
  // A stalled link looks like a slow server until the socket is given up.
  const socketTimeout = commandTimeoutMs === Infinity ? 30_000 : commandTimeoutMs;
  const make = (own: RedisClientOptions): RedisClient => {
    const options = { ...COMMON, ...(typeof given === 'string' ? {} : given), ...own };
    const client = typeof given === 'string' ? new ioredis.Redis(given, options) : new ioredis.Redis(options);
    return client as unknown as RedisClient;
  };
  return {
    commands: make({ socketTimeout, ...COMMANDS }),
    subscriber: make(SUBSCRIBER),
    ownsCommands: true,
    address: typeof given === 'string' ? given.replace(/\/\/[^@/]*@/, '//') : addressOf(given),
    keyPrefix: typeof given === 'string' ? '' : prefixOf(given),
  };
}

function createCluster(ioredis: Ioredis, { nodes, options = {} }: RedisClusterConnection): Clients {
  const make = (): RedisClient => {
    const client = new ioredis.Cluster(
      [...nodes] as never,
      {
        clusterRetryStrategy: COMMON.retryStrategy,
        slotsRefreshTimeout: 2_000,
        ...options,
        redisOptions: { keepAlive: COMMON.keepAlive, ...(options['redisOptions'] as object | undefined) },
        scaleReads: 'master',
        shardedSubscribers: true,
        lazyConnect: true,
      } as object,
    );
    return client as unknown as RedisClient;
  };
  return {
    commands: make(),
    subscriber: make(),
    ownsCommands: true,
    address: nodes.map((node) => (typeof node === 'string' ? node : addressOf(node))).join(', '),
    keyPrefix: prefixOf(options),
  };
}

function wrapClient(client: RedisClient, ownsCommands: boolean): Clients {
  const { options = {} } = client as { options?: RedisClientOptions };
  const subscriber = client.isCluster
    ? client.duplicate([], { shardedSubscribers: true, lazyConnect: true })
    : client.duplicate({ ...SUBSCRIBER, lazyConnect: true });
  return {
    commands: client,
    subscriber,
    ownsCommands,
    address: addressOf(options),
    keyPrefix: prefixOf(options),
  };
}

async function loadIoredis(): Promise<Ioredis> {
  try {
    const { Redis, Cluster } = await import('ioredis');
    return { Redis, Cluster };
  } catch (cause) {
    if (!['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes((cause as { code?: string }).code ?? ''))
      throw cause;
    throw new InvalidOptionsError(
      'provider',
      `The Redis provider needs the package "ioredis". Install it: npm install ioredis`,
      { cause },
    );
  }
}

function addressOf(options: object): string {
  const {
    host = '127.0.0.1',
    port = 6379,
    path,
    sentinels,
    name = 'mymaster',
  } = options as Readonly<Record<string, string | number>>;
  if (sentinels !== undefined) return `sentinel master "${name}"`;
  return path === undefined ? `${host}:${port}` : `${path}`;
}

function prefixOf(options: object): string {
  const { keyPrefix } = options as { keyPrefix?: unknown };
  return typeof keyPrefix === 'string' ? keyPrefix : '';
}
