import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { INestApplication, LoggerService } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DelayQueueService, type Job, type TopicCounts } from '../../lib/index.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';
import { AppModule } from '../../sample/01-orders/app.module.js';
import type { Order } from '../../sample/01-orders/orders/order.js';
import { OrdersController } from '../../sample/01-orders/orders/orders.controller.js';
import type { HoldJob } from '../../sample/01-orders/orders/orders.service.js';
import { PaymentGateway } from '../../sample/01-orders/payments/payment-gateway.js';
import { PaymentsService } from '../../sample/01-orders/payments/payments.service.js';
import type { Env } from '../../sample/01-orders/shop.config.js';
import { until } from '../support/redis-instances.js';
import { hasRedisServer, RedisServer } from '../support/redis-server.js';

const SECOND = 1_000;
const TTL = 30 * 60 * SECOND;
const TEA = { items: [{ name: 'tea', quantity: 2, priceCents: 450 }], totalCents: 900 };
/** The gateway never confirms a total that ends in 13 cents. */
const NEVER_CONFIRMED = { items: [{ name: 'tea', quantity: 1, priceCents: 413 }], totalCents: 413 };
/** After 1, 2, 4, 8 and 16 s. */
const ALL_CHECKS = 31 * SECOND;

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/** The shop on a port of its own, known by HTTP, with time that stands still until it is moved. */
class Shop {
  private constructor(
    readonly app: INestApplication,
    readonly clock: VirtualClock,
    /** What it logged. */
    readonly log: readonly string[],
    private readonly url: string,
  ) {}

  /** @param clock null for the machine's clocks; the shop's own then moves nothing */
  static async boot(env: Env = {}, clock: VirtualClock | null = new VirtualClock()): Promise<Shop> {
    const log: string[] = [];
    const note = (message: unknown): void => void log.push(String(message));
    const logger: LoggerService = { log: note, warn: note, error: note };
    const testing = await Test.createTestingModule({
      imports: [AppModule.register({ env: { ORDER_TTL: '30m', ...env }, clock: clock ?? undefined })],
    })
      .setLogger(logger)
      .compile();
    const app = testing.createNestApplication();
    await app.listen(0, '127.0.0.1');
    return new Shop(app, clock ?? new VirtualClock(), log, await app.getUrl());
  }

  async request(method: string, path: string, body?: string): Promise<Reply> {
    const headers = { 'content-type': 'application/json', connection: 'close' };
    const response = await fetch(this.url + path, { method, headers, body });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return { status: response.status, body: isJson ? JSON.parse(text) : text };
  }

  /** @returns the new order's id */
  async create(order: unknown = TEA): Promise<string> {
    const { status, body } = await this.request('POST', '/orders', JSON.stringify(order));
    expect(status).toBe(201);
    return (body as Order).id;
  }

  pay(id: string): Promise<Reply> {
    return this.request('POST', `/orders/${id}/pay`);
  }

  async look(id: string): Promise<Order> {
    return (await this.request('GET', `/orders/${id}`)).body as Order;
  }

  async stats(): Promise<Record<string, TopicCounts>> {
    return (await this.request('GET', '/stats')).body as Record<string, TopicCounts>;
  }

  /** @returns pending jobs of `order.expire`, `order.remind` and `payment.check` */
  async pending(): Promise<readonly number[]> {
    const stats = await this.stats();
    return ['order.expire', 'order.remind', 'payment.check'].map((topic) => stats[topic]!.pending);
  }

  /** What was logged about one order, its id replaced by `#`. */
  logged(id: string): readonly string[] {
    return this.log.filter((line) => line.includes(id)).map((line) => line.replace(id, '#'));
  }

  /** Lets `order.expire` handlers begin, and go on only when told. */
  holdExpiry(): { readonly letGo: () => Promise<void>; readonly begun: () => number } {
    const controller = this.app.get(OrdersController);
    const expire = controller.expire.bind(controller);
    const waiting: (() => void)[] = [];
    const held = (payload: HoldJob, job: Job): unknown =>
      new Promise<void>((resolve) => waiting.push(resolve)).then(() => expire(payload, job));
    const spy = jest.spyOn(controller, 'expire').mockImplementation(held);
    return {
      begun: () => waiting.length,
      letGo: () => {
        spy.mockRestore();
        for (const resolve of waiting) resolve();
        return this.clock.settle();
      },
    };
  }
}

describe('sample 01, orders', () => {
  let shop: Shop;
  let clock: VirtualClock;

  beforeEach(async () => {
    shop = await Shop.boot();
    clock = shop.clock;
  });

  afterEach(async () => {
    await shop.app.close();
    expect(clock.pendingAlarms).toBe(0);
  });

  describe('an order', () => {
    it('is created open, with the time at which it will expire', async () => {
      const { status, body } = await shop.request('POST', '/orders', JSON.stringify(TEA));

      expect(status).toBe(201);
      expect(body).toEqual({
        id: expect.stringMatching(/^[0-9a-f]{8}$/),
        state: 'open',
        ...TEA,
        createdAt: clock.wallNow(),
        expiresAt: clock.wallNow() + TTL,
        hold: 1,
        reminded: false,
      });
    });

    it('is found by its id, and in the list, newest first', async () => {
      const first = await shop.create();
      const second = await shop.create();

      const { body } = await shop.request('GET', '/orders');

      expect((body as Order[]).map(({ id }) => id)).toEqual([second, first]);
      expect(await shop.look(first)).toMatchObject({ id: first, state: 'open' });
    });

    it('is 404 under an id that nobody was given', async () => {
      const { status, body } = await shop.request('GET', '/orders/nobody');

      expect(status).toBe(404);
      expect(body).toMatchObject({ message: 'There is no order nobody.' });
    });

    it('has its customer reminded half way, once, and not 1 ms before', async () => {
      const id = await shop.create();

      await clock.advance(TTL / 2 - 1);
      const before = await shop.look(id);
      await clock.advance(1);
      const after = await shop.look(id);

      expect([before.reminded, after.reminded]).toEqual([false, true]);
      expect(after.state).toBe('open');
      await clock.advance(TTL / 4);
      expect(shop.logged(id).slice(1)).toEqual([
        'order # is still unpaid: customer reminded, 15m left (0.0 ms late)',
      ]);
    });

    it('expires at its time, and not 1 ms before', async () => {
      const id = await shop.create();

      await clock.advance(TTL - 1);
      const before = await shop.look(id);
      await clock.advance(1);
      const after = await shop.look(id);

      expect([before.state, after.state]).toEqual(['open', 'expired']);
      expect(after.expiresAt).toBeUndefined();
      expect(shop.logged(id).at(-1)).toBe('order # expired, unpaid after 30m (0.0 ms late)');
    });

    it('expires on its own, whatever becomes of others', async () => {
      const first = await shop.create();
      await clock.advance(10 * SECOND);
      const second = await shop.create();
      await shop.pay(first);

      await clock.advance(TTL - 1);
      const before = await shop.look(second);
      await clock.advance(1);

      expect(before.state).toBe('open');
      expect((await shop.look(second)).state).toBe('expired');
      expect((await shop.look(first)).state).toBe('paid');
    });
  });

  describe('a body that is no order', () => {
    const whole = 'must be a whole number from';
    it.each([
      ['nothing', undefined, ['items must be a list of 1 to 50', `totalCents ${whole} 1`]],
      ['a list', [], ['the body must be a JSON object with items and totalCents']],
      ['an empty object', {}, ['items must be a list of 1 to 50', `totalCents ${whole} 1`]],
      ['no items', { items: [], totalCents: 900 }, ['items must be a list of 1 to 50']],
      [
        'too many items',
        { items: Array.from({ length: 51 }, () => TEA.items[0]), totalCents: 51 * 900 },
        ['items must be a list of 1 to 50'],
      ],
      [
        'items that are none',
        { items: ['tea', { name: ' ', quantity: 1.5, priceCents: -1 }], totalCents: 900 },
        [
          'items[0] must be an object with name, quantity and priceCents',
          'items[1].name must be a text of 1 to 100 characters',
          `items[1].quantity ${whole} 1 to 1000`,
          `items[1].priceCents ${whole} 0 to 10000000`,
        ],
      ],
      ['a total in a text', { ...TEA, totalCents: '900' }, [`totalCents ${whole} 1`]],
      ['a wrong total', { ...TEA, totalCents: 901 }, ['totalCents is 901, but the items add up to 900']],
    ])('is refused, and says why: %s', async (_what, order, message) => {
      const { status, body } = await shop.request('POST', '/orders', JSON.stringify(order));

      expect(status).toBe(400);
      expect(body).toMatchObject({ message });
      expect((await shop.stats())['order.expire']).toMatchObject({ pending: 0 });
    });

    it('is refused when it is not even JSON', async () => {
      expect((await shop.request('POST', '/orders', '{"items":')).status).toBe(400);
    });

    it('leaves nothing behind of what is not part of an order', async () => {
      const items = [{ ...TEA.items[0], state: 'paid' }];
      const id = await shop.create({ ...TEA, items, state: 'paid', hold: 7 });

      expect(await shop.look(id)).toMatchObject({ ...TEA, state: 'open', hold: 1 });
    });
  });

  describe('a payment', () => {
    it('is accepted, and takes expiry and reminder back', async () => {
      const id = await shop.create();

      const { status, body } = await shop.pay(id);

      expect(status).toBe(202);
      expect(body).toMatchObject({
        state: 'paying',
        payment: { state: 'pending', checks: 0, nextCheckAt: clock.wallNow() + SECOND },
      });
      expect((body as Order).expiresAt).toBeUndefined();
      expect(await shop.pending()).toEqual([0, 0, 1]);
    });

    it('is checked after 1, 2 and 4 s, then the order is paid and never expires', async () => {
      const id = await shop.create();
      await shop.pay(id);

      const seen: [string, number][] = [];
      for (const waitMs of [999, 1, 1_999, 1, 3_999, 1]) {
        await clock.advance(waitMs);
        const { state, payment } = await shop.look(id);
        seen.push([state, payment!.checks]);
      }

      expect(seen).toEqual([
        ['paying', 0],
        ['paying', 1],
        ['paying', 1],
        ['paying', 2],
        ['paying', 2],
        ['paid', 3],
      ]);
      await clock.advance(2 * TTL);
      expect(await shop.look(id)).toMatchObject({ state: 'paid', reminded: false, payment: { checks: 3 } });
      expect(shop.logged(id).slice(2)).toEqual([
        'order #: payment check 1 of 5 says pending, next in 2s (0.0 ms late)',
        'order #: payment check 2 of 5 says pending, next in 4s (0.0 ms late)',
        'order #: payment check 3 of 5 says confirmed, order paid (0.0 ms late)',
      ]);
    });

    it('is given up after five checks; the order is open for the full time again, then expires', async () => {
      const id = await shop.create(NEVER_CONFIRMED);
      const voided = jest.spyOn(shop.app.get(PaymentGateway), 'void');
      const { payment } = (await shop.pay(id)).body as Order;

      await clock.advance(ALL_CHECKS - 1);
      expect(await shop.look(id)).toMatchObject({ state: 'paying', payment: { checks: 4 } });
      await clock.advance(1);

      expect(await shop.look(id)).toMatchObject({
        state: 'open',
        hold: 2,
        expiresAt: clock.wallNow() + TTL,
        payment: { state: 'given-up', checks: 5 },
      });
      expect(voided.mock.calls).toEqual([[payment!.id]]);
      await clock.advance(TTL - 1);
      expect(await shop.look(id)).toMatchObject({ state: 'open', reminded: true });
      await clock.advance(1);
      expect((await shop.look(id)).state).toBe('expired');
    });

    it('can be tried again after one that was given up', async () => {
      const id = await shop.create(NEVER_CONFIRMED);
      const first = ((await shop.pay(id)).body as Order).payment!.id;
      await clock.advance(ALL_CHECKS);

      const { status, body } = await shop.pay(id);

      expect(status).toBe(202);
      expect((body as Order).payment).toMatchObject({ state: 'pending', checks: 0 });
      expect((body as Order).payment!.id).not.toBe(first);
    });

    it('of an order that does not exist is 404', async () => {
      const { status, body } = await shop.pay('nobody');

      expect(status).toBe(404);
      expect(body).toMatchObject({ message: 'There is no order nobody.' });
    });

    it('of an expired order is 409, and changes nothing', async () => {
      const id = await shop.create();
      await clock.advance(TTL);

      const { status, body } = await shop.pay(id);

      expect(status).toBe(409);
      expect(body).toMatchObject({ message: `Order ${id} cannot be paid: it has expired.` });
      await clock.advance(TTL);
      expect(await shop.look(id)).toMatchObject({ state: 'expired' });
      expect((await shop.look(id)).payment).toBeUndefined();
    });

    it('of a paid order is 409', async () => {
      const id = await shop.create();
      await shop.pay(id);
      await clock.advance(7 * SECOND);

      const { status, body } = await shop.pay(id);

      expect(status).toBe(409);
      expect(body).toMatchObject({ message: `Order ${id} cannot be paid: it is already paid.` });
    });

    it('is started once by two requests that come together', async () => {
      const id = await shop.create();

      const replies = await Promise.all([shop.pay(id), shop.pay(id)]);

      expect(replies.map(({ status }) => status)).toEqual(expect.arrayContaining([202, 409]));
      expect((await shop.stats())['payment.check']).toMatchObject({ pending: 1 });
    });

    it('that the gateway does not take leaves the order open for the full time', async () => {
      const id = await shop.create();
      await clock.advance(10 * SECOND);
      jest.spyOn(shop.app.get(PaymentGateway), 'charge').mockRejectedValueOnce(new Error('gateway is down'));

      const { status } = await shop.pay(id);

      expect(status).toBe(500);
      expect(await shop.look(id)).toMatchObject({ state: 'open', expiresAt: clock.wallNow() + TTL });
      await clock.advance(TTL);
      expect((await shop.look(id)).state).toBe('expired');
    });

    it('goes on when the gateway fails to answer a check, which is made again a second later', async () => {
      const id = await shop.create();
      await shop.pay(id);
      jest.spyOn(shop.app.get(PaymentGateway), 'status').mockRejectedValueOnce(new Error('gateway is down'));

      await clock.advance(SECOND);
      const failed = await shop.look(id);
      await clock.advance(SECOND);
      const again = await shop.look(id);
      await clock.advance(6 * SECOND);

      expect([failed.payment!.checks, again.payment!.checks]).toEqual([0, 1]);
      expect(await shop.look(id)).toMatchObject({ state: 'paid', payment: { checks: 3 } });
    });

    it('waits for a person when the gateway is gone for long, and goes on when the dead letter is requeued', async () => {
      const id = await shop.create();
      await shop.pay(id);
      const status = jest.spyOn(shop.app.get(PaymentGateway), 'status');
      status.mockRejectedValue(new Error('gateway is down'));
      await clock.advance(TTL);
      expect((await shop.look(id)).state).toBe('paying');
      expect((await shop.stats())['payment.check']).toMatchObject({ pending: 0, dead: 1 });

      status.mockRestore();
      await shop.app.get(DelayQueueService).deadLetters.requeueAll('payment.check');
      await clock.advance(6 * SECOND);

      expect(await shop.look(id)).toMatchObject({ state: 'paid', payment: { checks: 3 } });
      expect((await shop.stats())['payment.check']).toMatchObject({ pending: 0, dead: 0 });
    });
  });

  describe('a payment and the expiry that meet', () => {
    it('end with the order paid if the payment comes 1 ms earlier', async () => {
      const id = await shop.create();
      await clock.advance(TTL - 1);

      const { status } = await shop.pay(id);
      await clock.advance(TTL);

      expect(status).toBe(202);
      expect((await shop.look(id)).state).toBe('paid');
    });

    it('end with the order paid if the expiry is due but has not begun', async () => {
      const id = await shop.create();
      // As a process sees it that was busy while the time came: due, and no timer has rung.
      clock.jump(TTL);
      expect((await shop.stats())['order.expire']).toMatchObject({ pending: 1, due: 1 });

      const { status } = await shop.pay(id);
      await clock.advance(TTL);

      expect(status).toBe(202);
      expect((await shop.look(id)).state).toBe('paid');
    });

    it('end with the order paid if the expiry is in flight but has not looked yet', async () => {
      const id = await shop.create();
      const expiry = shop.holdExpiry();
      await clock.advance(TTL);
      expect(expiry.begun()).toBe(1);

      const { status } = await shop.pay(id);
      await expiry.letGo();

      expect(status).toBe(202);
      expect((await shop.look(id)).state).toBe('paying');
      await clock.advance(7 * SECOND);
      expect((await shop.look(id)).state).toBe('paid');
    });

    it('leave an order alone that was opened again while its old expiry was still in flight', async () => {
      const id = await shop.create(NEVER_CONFIRMED);
      const expiry = shop.holdExpiry();
      await clock.advance(TTL);
      await shop.pay(id);
      await clock.advance(ALL_CHECKS);
      expect((await shop.look(id)).state).toBe('open');

      await expiry.letGo();

      expect(await shop.look(id)).toMatchObject({ state: 'open', hold: 2 });
      await clock.advance(TTL);
      expect((await shop.look(id)).state).toBe('expired');
    });
  });

  describe('a job that runs a second time', () => {
    const job = { latenessMs: 0 } as Job;

    it('does not expire an order twice', async () => {
      const id = await shop.create();
      await clock.advance(TTL);

      shop.app.get(OrdersController).expire({ orderId: id, hold: 1 }, job);

      expect((await shop.look(id)).state).toBe('expired');
      expect(shop.logged(id).filter((line) => line.includes('expired, unpaid'))).toHaveLength(1);
    });

    it('does not remind a customer twice', async () => {
      const id = await shop.create();
      await clock.advance(TTL / 2);

      shop.app.get(OrdersController).remind({ orderId: id, hold: 1 }, job);

      expect(shop.logged(id).filter((line) => line.includes('reminded'))).toHaveLength(1);
    });

    it('does not start a second chain of checks', async () => {
      const id = await shop.create(NEVER_CONFIRMED);
      const { payment } = (await shop.pay(id)).body as Order;
      await clock.advance(SECOND);

      await shop.app.get(PaymentsService).check({ orderId: id, paymentId: payment!.id, check: 1 }, job);

      expect(await shop.pending()).toEqual([0, 0, 1]);
      await clock.advance(ALL_CHECKS - SECOND);
      expect(await shop.look(id)).toMatchObject({ state: 'open', payment: { checks: 5 } });
      expect(shop.logged(id).filter((line) => line.includes('given up'))).toHaveLength(1);
    });

    it('does not check a payment again that was given up', async () => {
      const id = await shop.create(NEVER_CONFIRMED);
      const { payment } = (await shop.pay(id)).body as Order;
      await clock.advance(ALL_CHECKS);

      await shop.app.get(PaymentsService).check({ orderId: id, paymentId: payment!.id, check: 5 }, job);

      expect(await shop.look(id)).toMatchObject({ state: 'open', hold: 2 });
      expect(await shop.pending()).toEqual([1, 1, 0]);
    });
  });

  describe('the stats', () => {
    it('count the jobs of each topic while the story goes on', async () => {
      const before = await shop.pending();
      const paid = await shop.create();
      await shop.create();
      const created = await shop.pending();
      await shop.pay(paid);
      const paying = await shop.pending();
      await clock.advance(TTL);
      const after = await shop.pending();

      expect(before).toEqual([0, 0, 0]);
      expect(created).toEqual([2, 2, 0]);
      expect(paying).toEqual([1, 1, 1]);
      expect(after).toEqual([0, 0, 0]);
    });

    it('show no dead letters after a day of orders', async () => {
      for (let hour = 0; hour < 24; hour++) {
        await shop.create();
        await shop.pay(await shop.create());
        await shop.pay(await shop.create(NEVER_CONFIRMED));
        await clock.advance(60 * 60 * SECOND);
      }

      const { body } = await shop.request('GET', '/orders');
      const states = (body as Order[]).map(({ state }) => state);
      expect(states.filter((state) => state === 'paid')).toHaveLength(24);
      expect(states.filter((state) => state === 'expired')).toHaveLength(48);
      for (const counts of Object.values(await shop.stats())) {
        expect(counts).toMatchObject({ pending: 0, inFlight: 0, dead: 0 });
      }
    });
  });

  it('has a page to look at', async () => {
    const { status, body } = await shop.request('GET', '/');

    expect(status).toBe(200);
    expect(body).toMatch(/^<!doctype html>[^]*<h1>Orders<\/h1>/);
  });
});

(hasRedisServer ? describe : describe.skip)('sample 01 on Redis', () => {
  it('tells the same story by the clock of the server', async () => {
    const redis = await RedisServer.start();
    const env = { ORDER_TTL: '1s', DELAY_QUEUE_PROVIDER: 'redis', REDIS_URL: redis.url };
    const shop = await Shop.boot({ ...env, PAYMENT_CHECK_DELAY: '50ms' }, null);
    const unpaid = await shop.create();
    const paid = await shop.create();

    await shop.pay(paid);
    await until('the order is paid', async () => (await shop.look(paid)).state === 'paid');
    await until('the other one has expired', async () => (await shop.look(unpaid)).state === 'expired');

    expect((await shop.look(paid)).state).toBe('paid');
    expect(shop.log.join('\n')).toMatch(/is still unpaid: customer reminded/);
    await shop.app.close();
    await redis.stop();
  });
});

describe('booting sample 01', () => {
  it.each([
    [{ DELAY_QUEUE_PROVIDER: 'postgres' }, 'DELAY_QUEUE_PROVIDER is "postgres". Set it to "memory"'],
    [{ ORDER_TTL: '30' }, 'ORDER_TTL is "30". Give a duration with a unit'],
    [{ ORDER_TTL: '10ms' }, 'ORDER_TTL is "10ms". Give a duration with a unit'],
    [{ ORDER_TTL: 'soon' }, 'ORDER_TTL is "soon". Give a duration with a unit'],
    [{ PAYMENT_MAX_CHECKS: '0' }, 'PAYMENT_MAX_CHECKS is "0". Give a whole number from 1'],
  ])('refuses %j', async (env, message) => {
    await expect(Shop.boot(env)).rejects.toThrow(message);
  });
});
