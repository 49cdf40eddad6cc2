/** Unpaid when its hold ends: the order expires. */
export const ORDER_EXPIRE = 'order.expire';
/** Unpaid half way through its hold: the customer is reminded. */
export const ORDER_REMIND = 'order.remind';
/** Ask the gateway once more what became of a payment. */
export const PAYMENT_CHECK = 'payment.check';

export const TOPICS = [ORDER_EXPIRE, ORDER_REMIND, PAYMENT_CHECK] as const;
