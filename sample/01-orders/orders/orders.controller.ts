import { Body, Controller, Get, Logger, Param, Post } from '@nestjs/common';
import { Delayed, type Job } from '../../../lib/index.js';
import { ShopConfig } from '../shop.config.js';
import { ORDER_EXPIRE, ORDER_REMIND } from '../topics.js';
import { duration, lateness, money } from '../wording.js';
import { readCreateOrder } from './create-order.js';
import type { Order } from './order.js';
import { type HoldJob, OrdersService } from './orders.service.js';

@Controller('orders')
export class OrdersController {
  private readonly logger = new Logger('Orders');

  constructor(
    private readonly orders: OrdersService,
    private readonly config: ShopConfig,
  ) {}

  @Post()
  async create(@Body() body: unknown): Promise<Order> {
    const order = await this.orders.create(readCreateOrder(body));
    const { orderTtlMs } = this.config;
    this.logger.log(
      `order ${order.id} created, ${money(order.totalCents)}; ` +
        `reminder in ${duration(orderTtlMs / 2)}, expires in ${duration(orderTtlMs)}`,
    );
    return order;
  }

  @Get()
  list(): readonly Order[] {
    return this.orders.list();
  }

  @Get(':id')
  get(@Param('id') id: string): Order {
    return this.orders.get(id);
  }

  @Delayed(ORDER_EXPIRE, { concurrency: 20, maxAttempts: 5 })
  expire(payload: HoldJob, job: Job): void {
    const order = this.orders.expire(payload);
    if (!order) return this.logger.debug(`order ${payload.orderId} need not expire any more`);
    this.logger.log(
      `order ${order.id} expired, unpaid after ${duration(this.config.orderTtlMs)} (${lateness(job)})`,
    );
  }

  @Delayed(ORDER_REMIND, { concurrency: 20, maxAttempts: 5 })
  remind(payload: HoldJob, job: Job): void {
    const order = this.orders.remind(payload);
    if (!order) return this.logger.debug(`order ${payload.orderId} needs no reminder any more`);
    this.logger.log(
      `order ${order.id} is still unpaid: customer reminded, ${duration(this.config.orderTtlMs / 2)} left (${lateness(job)})`,
    );
  }
}
