import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ShopConfig } from '../shop.config.js';

export type PaymentStatus = 'pending' | 'confirmed';

/** Totals that end in these cents are never confirmed, so that giving up can be tried. */
const NEVER_CONFIRMED_CENTS = 13;

/** Stands in for a payment company: takes its time, and answers only when asked. */
@Injectable()
export class PaymentGateway {
  /** How many more checks of a payment answer `pending`. */
  private readonly pendingChecks = new Map<string, number>();

  constructor(private readonly config: ShopConfig) {}

  /** @returns the id of the payment, which is pending */
  async charge(totalCents: number): Promise<string> {
    const paymentId = `pay-${randomUUID().slice(0, 8)}`;
    const isConfirmable = totalCents % 100 !== NEVER_CONFIRMED_CENTS;
    this.pendingChecks.set(paymentId, isConfirmable ? this.config.settlesAtCheck - 1 : Infinity);
    return paymentId;
  }

  async status(paymentId: string): Promise<PaymentStatus> {
    const pending = this.pendingChecks.get(paymentId);
    if (pending === 0) return 'confirmed';
    if (pending !== undefined) this.pendingChecks.set(paymentId, pending - 1);
    return 'pending';
  }

  /** Makes sure that a payment given up is not confirmed later on. */
  async void(paymentId: string): Promise<void> {
    this.pendingChecks.delete(paymentId);
  }
}
