import { Controller, HttpCode, Param, Post } from '@nestjs/common';
import type { Order } from '../orders/order.js';
import { PaymentsService } from './payments.service.js';

@Controller('orders/:id/pay')
export class PaymentsController {
  constructor(private readonly payments: PaymentsService) {}

  /** Accepted, not done: the order says how the payment goes. */
  @Post()
  @HttpCode(202)
  pay(@Param('id') id: string): Promise<Order> {
    return this.payments.start(id);
  }
}
