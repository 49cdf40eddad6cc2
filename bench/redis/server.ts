import { Redis } from 'ioredis';
import { REDIS_PORT } from './peers.js';

/** Looks at the server without a part in what is measured. */
export class Admin {
  private readonly client = new Redis(REDIS_PORT, '127.0.0.1');

  async flush(): Promise<void> {
    await this.client.flushall();
  }

  /** Bytes in use. */
  memory(): Promise<number> {
    return this.read('memory', /used_memory:(\d+)/);
  }

  /** Commands so far, those inside scripts included. */
  commands(): Promise<number> {
    return this.read('stats', /total_commands_processed:(\d+)/);
  }

  close(): void {
    this.client.disconnect();
  }

  private async read(section: string, pattern: RegExp): Promise<number> {
    return Number(pattern.exec(await this.client.info(section))?.[1]);
  }
}

/** Counts calls, and resolves at the last. */
export class Countdown {
  readonly done: Promise<void>;
  private resolve = (): void => undefined;

  constructor(private count: number) {
    this.done = new Promise((resolve) => (this.resolve = resolve));
  }

  readonly call = (): void => {
    if (--this.count === 0) this.resolve();
  };
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
