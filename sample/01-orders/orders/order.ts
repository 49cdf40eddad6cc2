export interface Item {
  readonly name: string;
  readonly quantity: number;
  readonly priceCents: number;
}

/**
 *     open ──► paying ──► paid
 *      │  ◄────── (payment given up)
 *      └─────► expired
 */
export type OrderState = 'open' | 'paying' | 'paid' | 'expired';

/** Instants are epoch ms, by the clock of the delay queue, which decides them. */
export interface Order {
  readonly id: string;
  state: OrderState;
  readonly items: readonly Item[];
  readonly totalCents: number;
  readonly createdAt: number;
  /**
   * Counts the times the order was opened, from 1; its jobs carry it. A job of an earlier hold that runs late, after
   * its payment was given up and the order opened again, finds another number and leaves the order alone.
   */
  hold: number;
  /** When the present hold ends; absent unless the order is open. */
  expiresAt?: number;
  /** Whether the customer was reminded in the present hold. */
  reminded: boolean;
  /** The latest payment, even if it was given up. */
  payment?: Payment;
}

export interface Payment {
  readonly id: string;
  state: 'pending' | 'confirmed' | 'given-up';
  /** Checks made so far. */
  checks: number;
  /** Absent once there is nothing more to check. */
  nextCheckAt?: number;
}
