import type { Clock } from '../clock.js';
import type { DelayQueueProvider, Settlement, SettleStatus } from '../providers/delay-queue.provider.js';
import type { ProviderLink } from './provider-link.js';

interface Waiting {
  readonly settlement: Settlement;
  readonly settled: (status: SettleStatus) => void;
}

/**
 * Reports the outcomes of one topic to the provider, those of one turn of the event loop together. An outcome is kept
 * and told again until the provider has taken it: a store that is away for a while costs no second run as long as the
 * lease lasts.
 */
export class Settler {
  private waiting: Waiting[] = [];
  private scheduled = false;
  private sending = 0;
  private isAbandoned = false;
  private cancelRetry: (() => void) | undefined;
  private readonly idleListeners: (() => void)[] = [];

  constructor(
    private readonly topic: string,
    private readonly provider: DelayQueueProvider,
    private readonly clock: Clock,
    private readonly link: ProviderLink,
  ) {}

  /** Outcomes the provider has not taken yet. */
  get unsettled(): number {
    return this.waiting.length + this.sending;
  }

  /** @param settled told once the provider has answered */
  settle(settlement: Settlement, settled: (status: SettleStatus) => void): void {
    if (this.isAbandoned) return;
    this.waiting.push({ settlement, settled });
    if (this.scheduled) return;
    this.scheduled = true;
    process.nextTick(() => void this.flush());
  }

  /** Resolves once nothing is left to settle. */
  async idle(): Promise<void> {
    if (this.unsettled === 0) return;
    await new Promise<void>((resolve) => this.idleListeners.push(resolve));
  }

  /** Gives up what the provider has not taken; those jobs come back when their leases expire. */
  abandon(): void {
    this.isAbandoned = true;
    this.cancelRetry?.();
    this.waiting = [];
  }

  private async flush(): Promise<void> {
    this.scheduled = false;
    const batch = this.waiting;
    if (batch.length === 0) return;
    this.waiting = [];
    this.sending += batch.length;
    try {
      const statuses = await this.provider.settle(
        this.topic,
        batch.map(({ settlement }) => settlement),
      );
      this.link.works('settle');
      this.sending -= batch.length;
      batch.forEach(({ settled }, index) => settled(statuses[index]!));
    } catch (error) {
      this.sending -= batch.length;
      if (this.isAbandoned) return;
      this.waiting.unshift(...batch);
      this.retryLater(error);
    }
    if (this.unsettled === 0) for (const listener of this.idleListeners.splice(0)) listener();
  }

  private retryLater(error: unknown): void {
    if (this.scheduled) return;
    this.scheduled = true;
    const retryAtMs = this.clock.now() + this.link.failed('settle', error);
    this.cancelRetry = this.clock.callAt(retryAtMs, () => void this.flush());
  }
}
