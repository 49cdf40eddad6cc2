import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';

const START_LIMIT_MS = 10_000;

/** Whether this machine can run the Redis tests. A laptop without redis-server skips them; CI must have it. */
export const hasRedisServer = ((): boolean => {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    const hint = 'redis-server is not on the PATH. Install it, on Debian: apt-get install -y redis-server.';
    if (process.env['CI'] === 'true') throw new Error(hint);
    process.stdout.write(`Redis tests are skipped: ${hint}\n`);
    return false;
  }
})();

/** A redis-server process of its own, on a spare port of 127.0.0.1, with its files in a temporary folder. */
export class RedisServer {
  readonly url: string;
  private readonly folder = mkdtempSync(join(tmpdir(), 'delay-queue-redis-'));
  private child: ChildProcess | undefined;

  private constructor(
    readonly port: number,
    private readonly args: readonly string[],
  ) {
    this.url = `redis://127.0.0.1:${port}`;
  }

  /** @param args as on the command line, such as `--appendonly yes` in two items */
  static async start(args: readonly string[] = [], port?: number): Promise<RedisServer> {
    const server = new RedisServer(port ?? (await sparePort()), args);
    await server.launch();
    return server;
  }

  get pid(): number {
    return this.child!.pid!;
  }

  /** Starts it, again after `kill` or `shutdown`: on the same port and files. */
  async launch(waitForData = true): Promise<void> {
    const common = ['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.folder, '--save', ''];
    this.child = spawn('redis-server', [...common, '--daemonize', 'no', ...this.args], { stdio: 'ignore' });
    if (waitForData) await this.untilReady();
  }

  /** Runs one command on a connection of its own. */
  async command(name: string, ...args: (string | number)[]): Promise<unknown> {
    const client = new Redis(this.port, '127.0.0.1', { retryStrategy: () => null, lazyConnect: true });
    client.on('error', () => undefined);
    try {
      return await client.call(name, ...args.map(String));
    } finally {
      client.disconnect();
    }
  }

  /** As when the machine loses power, but for what the kernel already holds. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  /** Takes no more steps until `go`, but keeps its connections. */
  freeze(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  go(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  /** Ends it and removes its files. */
  async stop(): Promise<void> {
    await this.end('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async untilReady(): Promise<void> {
    const giveUpAt = Date.now() + START_LIMIT_MS;
    for (;;) {
      try {
        await this.command('PING');
        return;
      } catch (error) {
        if (/NOAUTH|NOPERM/.test(String(error))) return;
        if (Date.now() > giveUpAt) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await exited;
  }
}

/** A port nobody listens on. Below 55 000, so that the bus port of a cluster node (10 000 more) exists. */
export async function sparePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const isFree = await new Promise<boolean>((resolve) => {
      const probe = createServer();
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}
