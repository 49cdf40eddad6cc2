import type { DelayQueueEvents } from '../observe/events.js';
import type { Run } from './run.js';
import type { RunOutcome } from './runner.js';

/** Tells those who listen what became of a run; costs next to nothing when nobody does. */
export class RunReporter {
  constructor(private readonly events: DelayQueueEvents) {}

  claimed(run: Run): void {
    if (this.events.observed) this.events.emit({ type: 'claimed', ...factsOf(run), dueAt: run.dueAt });
  }

  leaseLost(run: Run): void {
    if (this.events.observed) this.events.emit({ type: 'lease-lost', ...factsOf(run) });
  }

  ended(run: Run, outcome: RunOutcome): void {
    if (!this.events.observed) return;
    const facts = factsOf(run);
    switch (outcome.type) {
      case 'completed': {
        const { latenessMs } = run;
        return this.events.emit({ type: 'completed', ...facts, latenessMs, durationMs: outcome.durationMs });
      }
      case 'retried':
        return this.events.emit({
          type: 'retried',
          ...facts,
          delayMs: outcome.delayMs,
          error: outcome.error,
        });
      case 'dead-lettered':
        return this.events.emit({
          type: 'dead-lettered',
          ...facts,
          reason: outcome.reason,
          error: outcome.error,
        });
      case 'expired':
      case 'skipped':
      case 'released':
        return this.events.emit({ type: outcome.type, ...facts });
      default:
        outcome satisfies never;
    }
  }
}

function factsOf({ topic, id, attempt, token }: Run): Pick<Run, 'topic' | 'id' | 'attempt' | 'token'> {
  return { topic, id, attempt, token };
}
