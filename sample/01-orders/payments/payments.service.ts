import { Injectable, Logger } from '@nestjs/common';
import { Delayed, DelayQueueService, type Job } from '../../../lib/index.js';
import type { Order, Payment } from '../orders/order.js';
import { OrdersService } from '../orders/orders.service.js';
import { ShopConfig } from '../shop.config.js';
import { PAYMENT_CHECK } from '../topics.js';
import { duration, lateness, money } from '../wording.js';
import { PaymentGateway } from './payment-gateway.js';

/** Payload of `payment.check`. */
export interface PaymentCheck {
  readonly orderId: string;
  readonly paymentId: string;
  /** Counted from 1. */
  readonly check: number;
}

/** Starts payments, and asks at growing intervals what became of them. */
@Injectable()
export class PaymentsService {
  private readonly logger = new Logger('Payments');

  constructor(
    private readonly delayQueue: DelayQueueService,
    private readonly orders: OrdersService,
    private readonly gateway: PaymentGateway,
    private readonly config: ShopConfig,
  ) {}

  /** @throws NotFoundException, ConflictException: no payment was started */
  async start(orderId: string): Promise<Order> {
    const order = this.orders.beginPayment(orderId);
    try {
      order.payment = { id: await this.gateway.charge(order.totalCents), state: 'pending', checks: 0 };
      await this.scheduleCheck(order.payment, { orderId, paymentId: order.payment.id, check: 1 });
    } catch (error) {
      // Without a check nobody would learn how the payment ended.
      if (order.payment) await this.gateway.void(order.payment.id);
      await this.orders.reopen(order);
      throw error;
    }
    // Last: if the process died in between, the jobs that are left would find the order not open.
    await this.orders.cancelHold(orderId);
    this.logger.log(
      `order ${orderId}: payment of ${money(order.totalCents)} started, expiry and reminder cancelled; ` +
        `first check in ${duration(this.config.checkDelayMs(1))}`,
    );
    return order;
  }

  /**
   * Throws when the gateway does not answer, and is run again after 1, 2, 4 s … up to a minute. After ten attempts nobody
   * knows whether money was taken: the job is then a dead letter for a person to requeue, and the order stays as it is.
   */
  @Delayed(PAYMENT_CHECK, {
    concurrency: 20,
    timeout: '10s',
    maxAttempts: 10,
    backoff: { type: 'exponential', delay: '1s', max: '1m' },
  })
  async check(payload: PaymentCheck, job: Job): Promise<void> {
    const { orderId, paymentId, check } = payload;
    const status = await this.gateway.status(paymentId);
    // Looked up after the answer: a job runs at least once, and another run may have settled the payment meanwhile.
    const order = this.orders.payingWith(orderId, paymentId);
    if (!order) return this.logger.debug(`order ${orderId}: payment ${paymentId} needs no check any more`);

    const { payment } = order;
    payment.checks = check;
    delete payment.nextCheckAt;
    const what = `order ${orderId}: payment check ${check} of ${this.config.maxChecks}`;
    if (status === 'confirmed') {
      order.state = 'paid';
      payment.state = 'confirmed';
      this.logger.log(`${what} says confirmed, order paid (${lateness(job)})`);
    } else if (check < this.config.maxChecks) {
      await this.scheduleCheck(payment, { ...payload, check: check + 1 });
      const delayMs = this.config.checkDelayMs(check + 1);
      this.logger.log(`${what} says pending, next in ${duration(delayMs)} (${lateness(job)})`);
    } else {
      await this.gateway.void(paymentId);
      await this.orders.reopen(order);
      payment.state = 'given-up';
      this.logger.warn(
        `${what} says pending: given up, order open for another ${duration(this.config.orderTtlMs)} (${lateness(job)})`,
      );
    }
  }

  /** The payment's id names the job, so however often a check is run again there is one next check. */
  private async scheduleCheck(payment: Payment, payload: PaymentCheck): Promise<void> {
    const { dueAt } = await this.delayQueue.schedule(PAYMENT_CHECK, payload, {
      id: payload.paymentId,
      delay: this.config.checkDelayMs(payload.check),
    });
    payment.nextCheckAt = dueAt;
  }
}
