import { type Observable, Subject } from 'rxjs';
import type { DeadReason } from '../job.js';

interface JobFacts {
  readonly topic: string;
  readonly id: string;
}

interface RunFacts extends JobFacts {
  readonly attempt: number;
  readonly token: number;
}

/** What happened. Durations in ms, instants as epoch ms. */
export type DelayQueueEvent =
  | (JobFacts & { readonly type: 'scheduled' | 'kept' | 'replaced'; readonly dueAt: number })
  | (JobFacts & { readonly type: 'cancelled' | 'rescheduled' })
  | (RunFacts & { readonly type: 'claimed'; readonly dueAt: number })
  | (RunFacts & { readonly type: 'completed'; readonly latenessMs: number; readonly durationMs: number })
  | (RunFacts & { readonly type: 'retried'; readonly delayMs: number; readonly error: unknown })
  | (RunFacts & { readonly type: 'dead-lettered'; readonly reason: DeadReason; readonly error: unknown })
  /** Its `expiresAfter` had passed before it could start; dropped. */
  | (RunFacts & { readonly type: 'expired' })
  /** An occurrence of a recurring schedule that came too late, with misfire `skip`. */
  | (RunFacts & { readonly type: 'skipped' })
  /** Handed back unrun while shutting down; the attempt is not counted. */
  | (RunFacts & { readonly type: 'released' })
  /** The outcome of this run is discarded: another claim owns the job, or it is gone. */
  | (RunFacts & { readonly type: 'lease-lost' })
  | { readonly type: 'dead-letters-dropped'; readonly topic: string; readonly count: number }
  /** Jobs whose records could not be read; each is a dead letter now. */
  | { readonly type: 'jobs-set-aside'; readonly topic: string; readonly count: number }
  /** The store works, but not as it should for a queue. */
  | { readonly type: 'provider-warning'; readonly message: string }
  /** An operation of the store failed; it is tried again until the lease of what it concerns is over. */
  | { readonly type: 'provider-lost'; readonly error: unknown }
  | { readonly type: 'provider-recovered' };

/** The events of one queue. */
export class DelayQueueEvents {
  private readonly subject = new Subject<DelayQueueEvent>();
  readonly stream: Observable<DelayQueueEvent> = this.subject.asObservable();

  /** Whether anyone listens: ask before making an event for each of many jobs. */
  get observed(): boolean {
    return this.subject.observed;
  }

  emit(event: DelayQueueEvent): void {
    this.subject.next(event);
  }

  complete(): void {
    this.subject.complete();
  }
}
