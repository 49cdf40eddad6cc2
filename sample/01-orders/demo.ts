import 'reflect-metadata';
import type { LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import type { TopicCounts } from '../../lib/index.js';
import type { Order } from './orders/order.js';

/** Short times, so that the whole story takes about five seconds. */
const ENV = { ORDER_TTL: '3s', PAYMENT_CHECK_DELAY: '400ms', PAYMENT_SETTLES_AT_CHECK: '3' };
const TTL_MS = 3_000;
/** Three checks: after 400, 800 and 1 600 ms. */
const CHECKS_MS = 2_800;
/** Of this walk on a busy machine, not of the delay queue. */
const SLACK_MS = 1_000;

let startedAt = performance.now();
const elapsedMs = (): number => performance.now() - startedAt;

function print(who: string, text: string): void {
  console.log(`${(elapsedMs() / 1_000).toFixed(3).padStart(7)} s  ${who.padEnd(8)}  ${text}`);
}

/** @throws Error unless the story goes as told */
function expect(fact: boolean, told: string): void {
  if (!fact) throw new Error(`The story was to go: ${told}. It did not.`);
}

/** What the shop itself logs, in the transcript; not what Nest logs while it boots. */
const transcript: LoggerService = {
  log: (message, context) => {
    if (context === 'Orders' || context === 'Payments') print('shop', String(message));
  },
  warn: (message) => print('warning', String(message)),
  error: (message) => print('error', String(message)),
};

/** Someone who knows the shop by HTTP only. */
class Customer {
  constructor(private readonly url: string) {}

  /** @returns the id of the order */
  async order(name: string, priceCents: number): Promise<string> {
    const body = { items: [{ name, quantity: 1, priceCents }], totalCents: priceCents };
    const { status, answer } = await this.ask('POST', '/orders', body);
    print('customer', `POST /orders (${name})  ->  ${status}`);
    expect(status === 201, `the order of ${name} is created`);
    return (answer as Order).id;
  }

  /** @returns the HTTP status */
  async pay(id: string): Promise<number> {
    const { status, answer } = await this.ask('POST', `/orders/${id}/pay`);
    const { state, message } = answer as { readonly state?: string; readonly message?: string };
    print('customer', `POST /orders/${id}/pay  ->  ${status} ${message ?? state}`);
    return status;
  }

  async stats(): Promise<Record<string, TopicCounts>> {
    const { status, answer } = await this.ask('GET', '/stats');
    print('customer', `GET /stats  ->  ${status}`);
    return answer as Record<string, TopicCounts>;
  }

  async look(id: string): Promise<Order> {
    return (await this.ask('GET', `/orders/${id}`)).answer as Order;
  }

  /**
   * Looks again and again.
   * @param limitMs since the start of the walk
   * @returns when the order was first seen to be so, ms since the start of the walk
   */
  async waitFor(id: string, what: string, isSo: (order: Order) => boolean, limitMs: number): Promise<number> {
    while (!isSo(await this.look(id))) {
      expect(elapsedMs() < limitMs, `order ${id} is ${what} before ${(limitMs / 1_000).toFixed(1)} s`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return elapsedMs();
  }

  private async ask(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly answer: unknown }> {
    const response = await fetch(this.url + path, {
      method,
      headers: { 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return { status: response.status, answer: await response.json() };
  }
}

async function story(customer: Customer): Promise<void> {
  const createdAt = elapsedMs();
  const tea = await customer.order('tea', 450);
  const honey = await customer.order('honey', 875);

  const remindedBy = createdAt + TTL_MS / 2 + SLACK_MS;
  await customer.waitFor(tea, 'reminded', ({ reminded }) => reminded, remindedBy);
  await customer.waitFor(honey, 'reminded', ({ reminded }) => reminded, remindedBy);

  expect((await customer.pay(tea)) === 202, 'the payment of the tea begins');
  expect((await customer.pay(tea)) === 409, 'the tea cannot be paid twice');
  const paidBy = elapsedMs() + CHECKS_MS + SLACK_MS;

  const expiredBy = createdAt + TTL_MS + SLACK_MS;
  const expiredAt = await customer.waitFor(honey, 'expired', ({ state }) => state === 'expired', expiredBy);
  expect(expiredAt >= createdAt + TTL_MS, 'the honey does not expire before its time');
  expect((await customer.pay(honey)) === 409, 'an expired order cannot be paid');

  await customer.waitFor(tea, 'paid', ({ state }) => state === 'paid', paidBy);
  expect((await customer.look(tea)).payment?.checks === 3, 'the tea is paid at the third check');

  for (const [topic, { pending, dead }] of Object.entries(await customer.stats())) {
    print('stats', `${topic}: ${pending} pending, ${dead} dead letters`);
    expect(pending === 0 && dead === 0, `nothing is left of ${topic}`);
  }
}

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule.register({ env: ENV }), {
    logger: transcript,
    abortOnError: false,
  });
  try {
    await app.listen(0, '127.0.0.1');
    startedAt = performance.now();
    await story(new Customer(await app.getUrl()));
    print('demo', 'the story went as told');
  } finally {
    await app.close();
  }
}

main().catch((error: unknown) => {
  print('error', error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
