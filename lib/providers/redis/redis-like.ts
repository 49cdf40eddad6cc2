type Arg = string | number | Buffer;

/**
 * A client of your own: `Redis` or `Cluster` of ioredis 5 or 6. Only what tells it from other objects is written down,
 * because the types of two versions of ioredis do not fit each other.
 */
export interface RedisLike {
  readonly status: string;
  evalsha(...args: never[]): Promise<unknown>;
  subscribe(...args: never[]): Promise<unknown>;
  duplicate(...args: never[]): unknown;
  disconnect(...args: never[]): void;
}

/** The part of an ioredis client this module uses. Replies of scripts are the same under RESP2 and RESP3. */
export interface RedisClient {
  readonly status: string;
  readonly isCluster?: boolean;
  evalsha(sha: string, keyCount: number, ...args: Arg[]): Promise<unknown>;
  eval(source: string, keyCount: number, ...args: Arg[]): Promise<unknown>;
  subscribe(...channels: string[]): Promise<unknown>;
  ssubscribe(...channels: string[]): Promise<unknown>;
  call(command: string, ...args: Arg[]): Promise<unknown>;
  duplicate(...args: unknown[]): RedisClient;
  connect(): Promise<unknown>;
  disconnect(reconnect?: boolean): void;
  quit(): Promise<unknown>;
  on(event: string, listener: (...args: never[]) => void): unknown;
  off(event: string, listener: (...args: never[]) => void): unknown;
}

/** Options of an ioredis client, passed on as they are: `host`, `port`, `password`, `tls`, `sentinels` and so on. */
export type RedisClientOptions = Readonly<Record<string, unknown>>;

/** A cluster to connect to. */
export interface RedisClusterConnection {
  /** Some of its nodes; the others are found through them. */
  readonly nodes: readonly (string | { readonly host?: string; readonly port?: number })[];
  /** `ClusterOptions` of ioredis. */
  readonly options?: RedisClientOptions;
}

/**
 * Where Redis is: a URL; options of an ioredis client, sentinels included; a cluster; a client of your own, which stays
 * yours to close; or a function that makes one, which is then closed with the module.
 */
export type RedisConnection =
  string | RedisClientOptions | RedisClusterConnection | RedisLike | (() => RedisLike | Promise<RedisLike>);

export function isRedisLike(connection: unknown): connection is RedisClient {
  const candidate = connection as Partial<RedisClient> | null;
  return (
    typeof candidate === 'object' &&
    typeof candidate?.evalsha === 'function' &&
    typeof candidate.duplicate === 'function'
  );
}

export function isCluster(connection: unknown): connection is RedisClusterConnection {
  return Array.isArray((connection as { nodes?: unknown }).nodes);
}
