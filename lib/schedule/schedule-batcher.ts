import type { AddResult, DelayQueueProvider, NewJob } from '../providers/delay-queue.provider.js';

interface Waiting {
  readonly job: NewJob;
  readonly resolve: (result: AddResult) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Gathers the jobs that one turn of the event loop schedules, and adds those of a topic together: a store that is one
 * round trip away takes two hundred jobs as quickly as one.
 */
export class ScheduleBatcher {
  private readonly waiting = new Map<string, Waiting[]>();
  private flushing = false;

  constructor(private readonly provider: DelayQueueProvider) {}

  add(topic: string, job: NewJob): Promise<AddResult> {
    return new Promise((resolve, reject) => {
      const batch = this.waiting.get(topic);
      if (batch) batch.push({ job, resolve, reject });
      else this.waiting.set(topic, [{ job, resolve, reject }]);
      if (this.flushing) return;
      this.flushing = true;
      // Runs after the promises of this turn, so that calls made by their continuations come along.
      process.nextTick(() => this.flush());
    });
  }

  /** Sends what is waiting now. To be called before anything that must see it, such as a cancel. */
  flush(): void {
    this.flushing = false;
    if (this.waiting.size === 0) return;
    const batches = [...this.waiting];
    this.waiting.clear();
    for (const [topic, batch] of batches) void this.send(topic, batch);
  }

  private async send(topic: string, batch: readonly Waiting[]): Promise<void> {
    try {
      const results = await this.provider.add(
        topic,
        batch.map(({ job }) => job),
      );
      batch.forEach(({ resolve }, index) => resolve(results[index]!));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
