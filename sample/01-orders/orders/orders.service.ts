import { randomUUID } from 'node:crypto';
import { ConflictException, Injectable, NotFoundException } from '@nestjs/common';
import { DelayQueueService } from '../../../lib/index.js';
import { ShopConfig } from '../shop.config.js';
import { ORDER_EXPIRE, ORDER_REMIND } from '../topics.js';
import type { CreateOrder } from './create-order.js';
import type { Order, OrderState, Payment } from './order.js';

/** Payload of `order.expire` and `order.remind`. */
export interface HoldJob {
  readonly orderId: string;
  readonly hold: number;
}

const WHY_NOT_PAYABLE: Record<Exclude<OrderState, 'open'>, string> = {
  paying: 'a payment is already under way',
  paid: 'it is already paid',
  expired: 'it has expired',
};

/**
 * The orders, and the two jobs that go with an open one. Where a request and a job can meet, looking at the
 * state and changing it have no `await` in between, so they cannot both win.
 */
@Injectable()
export class OrdersService {
  private readonly orders = new Map<string, Order>();

  constructor(
    private readonly delayQueue: DelayQueueService,
    private readonly config: ShopConfig,
  ) {}

  async create({ items, totalCents }: CreateOrder): Promise<Order> {
    const id = randomUUID().slice(0, 8);
    // The jobs first: a job without its order does nothing, an order without its jobs would never expire.
    const expiresAt = await this.scheduleHold({ orderId: id, hold: 1 });
    const order: Order = {
      id,
      state: 'open',
      items,
      totalCents,
      createdAt: expiresAt - this.config.orderTtlMs,
      hold: 1,
      expiresAt,
      reminded: false,
    };
    this.orders.set(id, order);
    return order;
  }

  /** Newest first. */
  list(): readonly Order[] {
    return [...this.orders.values()].toReversed();
  }

  /** @throws NotFoundException */
  get(id: string): Order {
    const order = this.orders.get(id);
    if (!order) throw new NotFoundException(`There is no order ${id}.`);
    return order;
  }

  /**
   * From here on the order neither expires nor can be paid a second time.
   * @throws NotFoundException
   * @throws ConflictException unless the order is open
   */
  beginPayment(id: string): Order {
    const order = this.get(id);
    if (order.state !== 'open') {
      throw new ConflictException(`Order ${id} cannot be paid: ${WHY_NOT_PAYABLE[order.state]}.`);
    }
    order.state = 'paying';
    delete order.expiresAt;
    return order;
  }

  /** Takes both jobs back. One that is running already sees that the order is no longer open. */
  async cancelHold(id: string): Promise<void> {
    await Promise.all([this.delayQueue.cancel(ORDER_EXPIRE, id), this.delayQueue.cancel(ORDER_REMIND, id)]);
  }

  /** The order a payment belongs to; `undefined` if that payment is no longer the one to wait for. */
  payingWith(orderId: string, paymentId: string): (Order & { payment: Payment }) | undefined {
    const order = this.orders.get(orderId);
    const isWaiting = order?.state === 'paying' && order.payment?.id === paymentId;
    return isWaiting ? (order as Order & { payment: Payment }) : undefined;
  }

  /** After a payment that came to nothing: the order is held once more, for the full time. */
  async reopen(order: Order): Promise<void> {
    const hold = order.hold + 1;
    // Again the jobs first. Should this fail in a handler, the handler is retried and finds the order as it was.
    const expiresAt = await this.scheduleHold({ orderId: order.id, hold });
    Object.assign(order, { state: 'open', hold, expiresAt, reminded: false } satisfies Partial<Order>);
  }

  /** @returns the order if it expired now; `undefined` if there was nothing to do */
  expire(job: HoldJob): Order | undefined {
    const order = this.heldBy(job);
    if (!order) return undefined;
    order.state = 'expired';
    delete order.expiresAt;
    return order;
  }

  /** @returns the order if its customer is to be reminded now; `undefined` if there was nothing to do */
  remind(job: HoldJob): Order | undefined {
    const order = this.heldBy(job);
    if (!order || order.reminded) return undefined;
    order.reminded = true;
    return order;
  }

  /** A job runs at least once, and perhaps beside a payment: it counts only while its own hold lasts. */
  private heldBy({ orderId, hold }: HoldJob): Order | undefined {
    const order = this.orders.get(orderId);
    return order?.state === 'open' && order.hold === hold ? order : undefined;
  }

  /** @returns when the hold ends, epoch ms */
  private async scheduleHold(payload: HoldJob): Promise<number> {
    const { orderTtlMs } = this.config;
    // The order's id names its jobs, so that they can be cancelled without keeping anything else.
    const options = { id: payload.orderId, ifExists: 'replace' } as const;
    const [expiry] = await Promise.all([
      this.delayQueue.schedule(ORDER_EXPIRE, payload, { ...options, delay: orderTtlMs }),
      this.delayQueue.schedule(ORDER_REMIND, payload, { ...options, delay: orderTtlMs / 2 }),
    ]);
    return expiry.dueAt;
  }
}
