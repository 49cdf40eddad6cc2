import { InvalidOptionsError } from '../../delay-queue.errors.js';
import { describeValue } from '../../describe-value.js';
import { toMs, type Duration } from '../../duration.js';
import type { RedisConnection } from './redis-like.js';

export interface RedisProviderOptions {
  /** @default 'redis://127.0.0.1:6379' */
  readonly connection?: RedisConnection;
  /** How the provider keeps time. @default 'sorted-set' */
  readonly strategy?: 'sorted-set';
  /** What every key begins with. Applications that share a Redis must differ in it. @default 'dq' */
  readonly prefix?: string;
  /**
   * How long an operation may take, the wait for a lost connection included; then it rejects with
   * `StoreUnavailableError`. `false` waits until Redis answers or the module closes.
   * @default '5s'
   */
  readonly commandTimeout?: Duration | false;
  /**
   * How often to look although no hint came, since a hint can be lost with a connection: the longest a new job can be
   * late after that, and the load of an idle instance. From 1 s. @default '30s'
   */
  readonly recheck?: Duration;
  /**
   * Over how many slots of a cluster the jobs of each topic are spread; from 1 to 64. The order of jobs due at the same
   * millisecond holds within one part; a rate limit and `globalConcurrency` are divided between them. Change it only
   * while no job is stored. @default 1
   */
  readonly partitions?: number;
  /**
   * Replicas that must have a job before `schedule` resolves (`WAIT`); it rejects with `StoreUnavailableError` where too
   * few have it in time, though the job is stored. @default 0: a failover may lose the jobs of its last moments
   */
  readonly replicas?: number;
  /** Internal: whose clock decides what is due. A test that moves time needs `clock`. @default 'server' */
  readonly time?: 'server' | 'clock';
}

/** `RedisProviderOptions` checked, in ms, with every default filled in. */
export interface ResolvedRedisOptions {
  readonly connection: RedisConnection;
  readonly prefix: string;
  /** Infinity to wait as long as it takes. */
  readonly commandTimeoutMs: number;
  readonly recheckMs: number;
  readonly partitions: number;
  readonly replicas: number;
  readonly time: 'server' | 'clock';
}

const KNOWN = [
  'connection',
  'strategy',
  'prefix',
  'commandTimeout',
  'recheck',
  'partitions',
  'replicas',
  'time',
];
const LEAST_RECHECK_MS = 1_000;
const MAX_PARTITIONS = 64;

/** @throws InvalidOptionsError */
export function resolveRedisOptions(options: RedisProviderOptions): ResolvedRedisOptions {
  const unknown = Object.keys(options).find((name) => !KNOWN.includes(name));
  if (unknown !== undefined) throw invalid(unknown, `is unknown. Known here: ${KNOWN.join(', ')}`);
  const { connection = 'redis://127.0.0.1:6379', strategy = 'sorted-set', prefix = 'dq' } = options;
  const { commandTimeout = 5_000, recheck = 30_000, partitions = 1, replicas = 0, time = 'server' } = options;
  if (strategy !== 'sorted-set')
    throw invalid('strategy', `is ${describeValue(strategy)}. Give 'sorted-set'`);
  if (typeof prefix !== 'string' || prefix === '' || /[{}]/.test(prefix)) {
    throw invalid('prefix', `is ${describeValue(prefix)}. Give a text without braces`);
  }
  if (!['string', 'object', 'function'].includes(typeof connection) || connection === null) {
    throw invalid(
      'connection',
      `is ${describeValue(connection)}. Give a URL, options, a client or a function`,
    );
  }
  return {
    connection,
    prefix,
    commandTimeoutMs: commandTimeout === false ? Infinity : duration('commandTimeout', commandTimeout, 1),
    recheckMs: duration('recheck', recheck, LEAST_RECHECK_MS),
    partitions: whole('partitions', partitions, 1, MAX_PARTITIONS),
    replicas: whole('replicas', replicas, 0, 100),
    time,
  };
}

function duration(name: string, value: Duration, leastMs: number): number {
  const ms = toMs(value);
  if (ms !== undefined && ms >= leastMs) return ms;
  throw invalid(name, `is ${describeValue(value)}. Give ${leastMs} ms or more`);
}

function whole(name: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw invalid(name, `is ${describeValue(value)}. Give a whole number from ${least} to ${most}`);
}

function invalid(name: string, problem: string): InvalidOptionsError {
  return new InvalidOptionsError(`provider.${name}`, `Option provider.${name} ${problem}.`);
}
