/** The right to run one job, as the memory provider keeps it. Its expiry is the job's place in the due order. */
export interface Lease {
  readonly slot: number;
  readonly token: number;
  /** When the job was due, on monotonic time, and its sequence: where a release puts it back. */
  readonly dueMs: number;
  readonly sequence: number;
  /** Cancelled while in flight: no run may follow this one. */
  cancelled: boolean;
  /** And the running handler is to be told. */
  abort: boolean;
}

/** The leases of one topic, by job and by token. Few: there are never more than handlers running, and those that crashed. */
export class Leases {
  private readonly bySlot = new Map<number, Lease>();
  private readonly byToken = new Map<number, Lease>();
  private lastToken = 0;

  get size(): number {
    return this.bySlot.size;
  }

  /** A new lease on the slot; an earlier one loses its token. */
  grant(slot: number, dueMs: number, sequence: number): Lease {
    this.revoke(slot);
    const lease: Lease = {
      slot,
      token: ++this.lastToken,
      dueMs,
      sequence,
      cancelled: false,
      abort: false,
    };
    this.bySlot.set(slot, lease);
    this.byToken.set(lease.token, lease);
    return lease;
  }

  revoke(slot: number): void {
    const lease = this.bySlot.get(slot);
    if (!lease) return;
    this.bySlot.delete(slot);
    this.byToken.delete(lease.token);
  }

  ofSlot(slot: number): Lease | undefined {
    return this.bySlot.get(slot);
  }

  ofToken(token: number): Lease | undefined {
    return this.byToken.get(token);
  }

  slots(): IterableIterator<number> {
    return this.bySlot.keys();
  }
}
