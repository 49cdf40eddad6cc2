import { ProviderClosedError, StoreUnavailableError } from '../../delay-queue.errors.js';
import type { ProviderNotice } from '../delay-queue.provider.js';
import { type Clients, createClients } from './create-clients.js';
import type { RedisClient } from './redis-like.js';
import type { ResolvedRedisOptions } from './redis.options.js';
import { isLinkError, isPassing } from './redis-errors.js';
import { type ScriptName, scriptOf } from './scripts.js';

/** Asking again what the store had no answer for is harmless, except where each answer takes something. */
export type Repeat = 'harmless' | 'never';

const QUIT_MS = 500;
/** So that WAIT answers before this side gives up. */
const CONFIRM_MARGIN_MS = 100;
const FIRST_RETRY_MS = 25;
const LONGEST_RETRY_MS = 1_000;

interface Pending {
  readonly reject: (error: Error) => void;
}

/**
 * The commands of one instance. Nothing here waits longer than `commandTimeout`: not for a link that is down, not for a
 * server that does not answer, and not for a client that forgets its promises when it is closed.
 */
export class Connection {
  readonly subscriber: RedisClient;
  readonly keyPrefix: string;
  readonly isCluster: boolean;
  private readonly commands: RedisClient;
  private readonly pending = new Set<Pending>();
  private readonly readyListeners = new Set<() => void>();
  private lost = false;
  private closing: Promise<void> | undefined;

  private constructor(
    private readonly clients: Clients,
    private readonly options: ResolvedRedisOptions,
    private readonly report: (notice: ProviderNotice) => void,
  ) {
    this.commands = clients.commands;
    this.subscriber = clients.subscriber;
    this.keyPrefix = clients.keyPrefix;
    this.isCluster = clients.commands.isCluster === true;
    this.commands.on('ready', this.onReady);
    this.commands.on('close', this.onClose);
    this.commands.on('error', this.onError);
    this.subscriber.on('error', this.onError);
  }

  /** @throws StoreUnavailableError if Redis does not answer, or refuses, within the time */
  static async open(
    options: ResolvedRedisOptions,
    report: (notice: ProviderNotice) => void,
  ): Promise<Connection> {
    const connection = new Connection(await createClients(options), options, report);
    try {
      await connection.connect();
    } catch (error) {
      await connection.close();
      throw error;
    }
    return connection;
  }

  /** Runs a script; one the server does not know is sent whole. */
  async run(
    operation: string,
    script: ScriptName,
    keys: readonly string[],
    args: readonly (string | number)[],
    repeat: Repeat = 'harmless',
  ): Promise<unknown> {
    const { source, sha } = scriptOf(script);
    return this.attempt(operation, repeat, async () => {
      try {
        return await this.commands.evalsha(sha, keys.length, ...keys, ...args);
      } catch (error) {
        if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
        return this.commands.eval(source, keys.length, ...keys, ...args);
      }
    });
  }

  /** A command that is no script. */
  async command(operation: string, name: string, args: readonly (string | number)[]): Promise<unknown> {
    return this.attempt(operation, 'harmless', () => this.commands.call(name, ...args));
  }

  /** Waits until so many replicas of the node that holds `key` have all that this connection wrote. */
  async confirm(operation: string, key: string, replicas: number): Promise<void> {
    const { commandTimeoutMs } = this.options;
    const limitMs = commandTimeoutMs === Infinity ? 0 : Math.max(1, commandTimeoutMs - CONFIRM_MARGIN_MS);
    const confirmed = await this.attempt(operation, 'never', async () => {
      // On a cluster, WAIT is for the connection to the node that took the write.
      const node = this.isCluster ? await nodeOf(this.commands, key) : this.commands;
      return node.call('WAIT', replicas, limitMs);
    });
    if (typeof confirmed === 'number' && confirmed >= replicas) return;
    throw new StoreUnavailableError(
      `Cannot ${operation} safely: ${String(confirmed)} of ${replicas} replicas confirmed it within ${limitMs} ms. ` +
        `The jobs are stored, but a failover may lose them. Are the replicas connected?`,
    );
  }

  /** Ends the connections, however they are doing; what is still waiting rejects. Leaves no socket and no timer. */
  close(): Promise<void> {
    return (this.closing ??= this.end());
  }

  private async connect(): Promise<void> {
    for (const client of [this.commands, this.subscriber]) {
      if (client.status === 'wait') client.connect().catch(() => undefined);
    }
    await this.attempt('connect', 'harmless', () =>
      this.commands.isCluster ? Promise.resolve() : this.commands.call('PING'),
    );
  }

  /** Until it succeeds, is refused for good, or the time is over. */
  private attempt(operation: string, repeat: Repeat, send: () => Promise<unknown>): Promise<unknown> {
    if (this.closing) return Promise.reject(new ProviderClosedError(operation));
    const { commandTimeoutMs } = this.options;
    return new Promise((resolve, reject) => {
      let lastError: unknown;
      let over = false;
      let retry: NodeJS.Timeout | undefined;
      const pending: Pending = { reject: (error) => end(() => reject(error)) };
      const timer =
        commandTimeoutMs === Infinity
          ? undefined
          : setTimeout(() => pending.reject(this.unavailable(operation, lastError)), commandTimeoutMs);
      let waiting: (() => void) | undefined;
      const end = (settle: () => void): void => {
        if (over) return;
        over = true;
        clearTimeout(timer);
        clearTimeout(retry);
        this.pending.delete(pending);
        if (waiting) this.readyListeners.delete(waiting);
        settle();
      };
      const tryOnce = (attempt: number): void => {
        if (over) return;
        if (this.commands.status !== 'ready') {
          waiting = () => tryOnce(attempt);
          return void this.readyListeners.add(waiting);
        }
        send().then(
          (reply) => end(() => resolve(reply)),
          (error: unknown) => {
            lastError = error;
            const mayRepeat = isPassing(error) || (repeat === 'harmless' && isLinkError(error));
            if (!mayRepeat) return end(() => reject(this.refused(operation, error)));
            const waitMs =
              Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** attempt) * (0.5 + Math.random() / 2);
            retry = setTimeout(() => tryOnce(Math.min(attempt + 1, 10)), waitMs);
          },
        );
      };
      this.pending.add(pending);
      tryOnce(0);
    });
  }

  private unavailable(operation: string, cause: unknown): StoreUnavailableError {
    const known = cause instanceof Error ? ` The last answer was: ${cause.message}` : '';
    return new StoreUnavailableError(
      `Cannot ${operation}: Redis at "${this.clients.address}" did not answer within ` +
        `${this.options.commandTimeoutMs} ms.${known} Is it running? Set provider.connection, or use the memory provider in tests.`,
      { cause },
    );
  }

  private refused(operation: string, cause: unknown): Error {
    if (this.closing) return new ProviderClosedError(operation);
    const message = cause instanceof Error ? cause.message : String(cause);
    return new StoreUnavailableError(
      `Cannot ${operation}: Redis at "${this.clients.address}" answered: ${message}`,
      { cause },
    );
  }

  private readonly onReady = (): void => {
    const listeners = [...this.readyListeners];
    this.readyListeners.clear();
    for (const listener of listeners) listener();
    if (!this.lost) return;
    this.lost = false;
    this.report({ type: 'provider-recovered' });
  };

  private readonly onClose = (): void => {
    if (this.lost || this.closing) return;
    this.lost = true;
    this.report({
      type: 'provider-lost',
      error: new StoreUnavailableError(`The connection to Redis at "${this.clients.address}" is lost.`),
    });
  };

  /** Without a listener, ioredis prints; what matters reaches callers through their commands. */
  private readonly onError = (error: Error): void => {
    if (/WRONGPASS|NOAUTH|NOPERM|invalid password/i.test(error.message)) this.refuseAll(error);
  };

  /** A password does not become right by waiting. */
  private refuseAll(error: Error): void {
    for (const { reject } of this.pending) reject(this.refused('connect', error));
  }

  private async end(): Promise<void> {
    const { commands, subscriber, ownsCommands } = this.clients;
    for (const { reject } of this.pending) reject(new ProviderClosedError('finish'));
    this.readyListeners.clear();
    this.commands.off('ready', this.onReady);
    this.commands.off('close', this.onClose);
    await Promise.all([closeClient(subscriber), ownsCommands ? closeClient(commands) : undefined]);
    if (!ownsCommands) this.commands.off('error', this.onError);
  }
}

/** `quit` never answers on a link that is down, and `disconnect` forgets what was sent: one after the other. */
async function closeClient(client: RedisClient): Promise<void> {
  if (client.status === 'ready') {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => (timer = setTimeout(resolve, QUIT_MS)));
    await Promise.race([client.quit().catch(() => undefined), limit]);
    clearTimeout(timer);
  }
  client.disconnect();
}

/** The connection of a cluster client to the master that holds a key. */
async function nodeOf(client: RedisClient, key: string): Promise<RedisClient> {
  const cluster = client as unknown as {
    readonly slots: readonly (readonly string[] | undefined)[];
    nodes(role: 'master'): readonly (RedisClient & { readonly options: { host: string; port: number } })[];
  };
  const slot = Number(await client.call('CLUSTER', 'KEYSLOT', key));
  const [address] = cluster.slots[slot] ?? [];
  const node = cluster.nodes('master').find(({ options: { host, port } }) => `${host}:${port}` === address);
  if (!node) throw new Error(`CLUSTERDOWN no node is known for slot ${slot}`);
  return node;
}
