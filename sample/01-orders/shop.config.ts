import { type DynamicModule, Module } from '@nestjs/common';
import { type DelayQueueOptions, parseDuration } from '../../lib/index.js';

export type Env = Readonly<Record<string, string | undefined>>;

const LONGEST_MS = parseDuration('1y');

/** What can be set from outside, read from the environment once, at boot. */
export class ShopConfig {
  /** How long an unpaid order is held. At least a second, far longer than it takes to schedule its jobs. */
  readonly orderTtlMs: number;
  /** From the start of a payment to its first check; each further wait is twice the one before. */
  readonly firstCheckDelayMs: number;
  /** After this many checks without an answer a payment is given up. */
  readonly maxChecks: number;
  /** The check at which the fake gateway confirms a payment. */
  readonly settlesAtCheck: number;

  /** @throws Error naming the variable that makes no sense */
  constructor(env: Env) {
    this.orderTtlMs = readDuration(env, 'ORDER_TTL', '30s', 1_000);
    this.firstCheckDelayMs = readDuration(env, 'PAYMENT_CHECK_DELAY', '1s', 1);
    this.maxChecks = readCount(env, 'PAYMENT_MAX_CHECKS', 5);
    this.settlesAtCheck = readCount(env, 'PAYMENT_SETTLES_AT_CHECK', 3);
  }

  /** How long before check `check`, counted from 1. */
  checkDelayMs(check: number): number {
    return this.firstCheckDelayMs * 2 ** (check - 1);
  }
}

/**
 * The only place that chooses where jobs wait.
 * @throws Error for a provider there is not
 */
export function providerFrom(env: Env): DelayQueueOptions['provider'] {
  const name = env.DELAY_QUEUE_PROVIDER ?? 'memory';
  switch (name) {
    case 'memory':
      return { type: 'memory' };
    case 'redis':
      return { type: 'redis', connection: env.REDIS_URL ?? 'redis://127.0.0.1:6379' };
    default:
      throw new Error(`DELAY_QUEUE_PROVIDER is "${name}". Set it to "memory" or "redis", or leave it out.`);
  }
}

/** Gives `ShopConfig` to the whole application. */
@Module({})
export class ShopConfigModule {
  static register(env: Env): DynamicModule {
    return {
      module: ShopConfigModule,
      global: true,
      providers: [{ provide: ShopConfig, useFactory: () => new ShopConfig(env) }],
      exports: [ShopConfig],
    };
  }
}

function readDuration(env: Env, name: string, fallback: string, leastMs: number): number {
  const text = env[name] ?? fallback;
  try {
    const durationMs = parseDuration(text);
    if (durationMs >= leastMs && durationMs <= LONGEST_MS) return durationMs;
  } catch {
    // The message below names the variable.
  }
  throw new Error(
    `${name} is "${text}". Give a duration with a unit, such as "30s" or "30m", from ${leastMs}ms to 1y.`,
  );
}

function readCount(env: Env, name: string, fallback: number): number {
  const text = env[name] ?? String(fallback);
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= 20) return count;
  throw new Error(`${name} is "${text}". Give a whole number from 1 to 20.`);
}
