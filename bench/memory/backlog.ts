import { SystemClock } from '../../lib/clock.js';
import type { DelayQueueRuntime } from '../../lib/delay-queue.runtime.js';
import { MemoryProvider } from '../../lib/providers/memory/memory.provider.js';
import { Countdown } from '../harness/countdown.js';
import { nextTurn } from '../harness/measure.js';
import { addHandler, openQueue, TOPIC } from '../harness/queue.js';
import { orderOf, randomSource } from '../harness/workload.js';

/** Due times are spread evenly over this. */
const HORIZON_MS = 3_600_000;

/** A dispatcher with as many free slots would ask for the same. */
const CLAIM = { limit: 100, leaseMs: 30_000 };

const FILL_BATCH = 10_000;

/** Lets jobs fall due without a wait, and costs what the real clock costs. */
class SkippingClock extends SystemClock {
  private skippedMs = 0;
  private readonly alarms = new Map<() => void, { readonly atMs: number; cancel: () => void }>();

  override now(): number {
    return super.now() + this.skippedMs;
  }

  override wallNow(): number {
    return super.wallNow() + this.skippedMs;
  }

  override callAt(atMs: number, callback: () => void): () => void {
    const ring = (): void => {
      this.alarms.delete(ring);
      callback();
    };
    this.alarms.set(ring, { atMs, cancel: super.callAt(atMs - this.skippedMs, ring) });
    return () => {
      this.alarms.get(ring)?.cancel();
      this.alarms.delete(ring);
    };
  }

  skip(ms: number): void {
    this.skippedMs += ms;
    for (const [ring, alarm] of this.alarms) {
      alarm.cancel();
      alarm.cancel = super.callAt(alarm.atMs - this.skippedMs, ring);
    }
  }
}

/** A queue with many pending jobs of random due times, and the operations whose cost may grow with their number. */
export class Backlog {
  private readonly ids: string[] = [];
  private readonly handled = new Countdown();

  private constructor(
    private readonly pending: number,
    private readonly random: () => number,
    private readonly clock: SkippingClock,
    private readonly provider: MemoryProvider,
    private readonly queue: DelayQueueRuntime,
  ) {
    addHandler(queue, CLAIM.limit, this.handled.hit);
  }

  static async of(pending: number): Promise<Backlog> {
    const provider = new MemoryProvider();
    const clock = new SkippingClock();
    const queue = await openQueue({ provider, clock });
    const backlog = new Backlog(pending, randomSource(pending), clock, provider, queue);
    while (backlog.ids.length < pending) await backlog.add(FILL_BATCH);
    return backlog;
  }

  async add(count: number): Promise<void> {
    const requests = Array.from({ length: count }, (_, index) => ({
      topic: TOPIC,
      payload: orderOf(index),
      delay: this.randomDelay(),
    }));
    for (const { id } of await this.queue.service.scheduleMany(requests)) this.ids.push(id);
  }

  /** Some ids from anywhere; whoever takes them cancels their jobs. */
  takeIds(count: number): readonly string[] {
    return Array.from({ length: count }, () => {
      const index = Math.floor(this.random() * this.ids.length);
      const id = this.ids[index]!;
      this.ids[index] = this.ids.at(-1)!;
      this.ids.pop();
      return id;
    });
  }

  async cancel(ids: readonly string[]): Promise<void> {
    await Promise.all(ids.map((id) => this.queue.service.cancel(TOPIC, id)));
  }

  async reschedule(ids: readonly string[]): Promise<void> {
    await Promise.all(
      ids.map((id) => this.queue.service.reschedule(TOPIC, id, { delay: this.randomDelay() })),
    );
  }

  /** Lets about that many jobs fall due. @returns how many did */
  async skip(count: number): Promise<number> {
    this.clock.skip((HORIZON_MS / this.pending) * count);
    const { due } = await this.queue.service.stats(TOPIC);
    return due;
  }

  /** Claims and settles what is due, as the provider alone does it. */
  async claimAndSettle(): Promise<void> {
    for (;;) {
      const { claims } = await this.provider.claim(TOPIC, CLAIM);
      if (claims.length === 0) return;
      const statuses = await this.provider.settle(
        TOPIC,
        claims.map(({ id, token }) => ({ id, token, outcome: 'complete' })),
      );
      if (statuses.includes('lease-lost')) throw new Error('A lease was lost.');
    }
  }

  /** Begins to run whatever is due. */
  async start(): Promise<void> {
    await this.queue.start();
  }

  /** Waits until the dispatcher, which wakes by itself, has run and settled that many jobs. */
  async run(count: number): Promise<void> {
    if (count > 0) await this.handled.expect(count);
    // The last ones are settled after their handlers have returned; a skip before that would end their leases.
    await nextTurn();
  }

  async close(): Promise<void> {
    await this.queue.close();
  }

  private randomDelay(): number {
    return Math.floor(this.random() * HORIZON_MS);
  }
}
