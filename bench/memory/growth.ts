import { timed } from '../harness/measure.js';
import {
  type Figure,
  ratiosOf,
  type Round,
  type Sample,
  type Scenario,
  valuesOf,
} from '../harness/scenario.js';
import { Backlog } from './backlog.js';

const BLOCK = 500;

/** Adds up time and operations, leaving out a warm-up, and remembers the longest a caller was held up. */
class Meter {
  longestMs = 0;
  private operations = 0;
  private ms = 0;

  constructor(private warmUp: number) {}

  add(operations: number, ms: number): void {
    this.longestMs = Math.max(this.longestMs, ms);
    this.warmUp -= operations;
    if (this.warmUp >= 0) return;
    this.operations += operations;
    this.ms += ms;
  }

  get ns(): number {
    return (this.ms / this.operations) * 1e6;
  }
}

/**
 * The same number of each operation at a given backlog, which stays as large as it is: what is cancelled or run is
 * replaced by a new job of a random due time. Enough of them that what happens rarely, such as a table that grows,
 * weighs about what it weighs in the long run.
 */
async function costs(pending: number, quick: boolean): Promise<Sample> {
  const operations = quick ? 4_000 : 200_000;
  const warmUp = operations / 4;
  const backlog = await Backlog.of(pending);
  const blocks = Array.from({ length: (operations + warmUp) / BLOCK });

  const schedule = new Meter(warmUp);
  const cancel = new Meter(warmUp);
  const reschedule = new Meter(warmUp);
  for (const _ of blocks) {
    const ids = backlog.takeIds(BLOCK);
    reschedule.add(BLOCK, await timed(() => backlog.reschedule(ids)));
    cancel.add(BLOCK, await timed(() => backlog.cancel(ids)));
    schedule.add(BLOCK, await timed(() => backlog.add(BLOCK)));
  }

  const claimAndSettle = new Meter(warmUp);
  for (const _ of blocks) {
    const due = await backlog.skip(BLOCK);
    claimAndSettle.add(due, await timed(() => backlog.claimAndSettle()));
    await backlog.add(due);
  }

  const run = new Meter(warmUp);
  await backlog.start();
  for (const _ of blocks) {
    const due = await backlog.skip(BLOCK);
    run.add(due, await timed(() => backlog.run(due)));
    await backlog.add(due);
  }

  await backlog.close();
  return {
    schedule: schedule.ns,
    cancel: cancel.ns,
    reschedule: reschedule.ns,
    claimAndSettle: claimAndSettle.ns,
    run: run.ns,
    longestScheduleMs: schedule.longestMs,
  };
}

const OPERATIONS = {
  schedule: 'schedule (scheduleMany of 500)',
  cancel: 'cancel, one by one',
  reschedule: 'reschedule, one by one',
  claimAndSettle: 'claim and settle, the provider alone',
  run: 'claim, run and settle, all of it',
};

function figuresOf(operation: keyof typeof OPERATIONS, rounds: readonly Round[]): readonly Figure[] {
  const name = OPERATIONS[operation];
  const small = valuesOf(rounds, 'small', operation);
  const large = valuesOf(rounds, 'large', operation);
  return [
    { name: `${name}: 10 k pending`, unit: 'ns', values: small },
    { name: `${name}: 1 M pending`, unit: 'ns', values: large },
    { name: `${name}: growth`, unit: 'x', values: ratiosOf(large, small), target: { atMost: 2 } },
  ];
}

export const scenario: Scenario = {
  title: 'cost of an operation at 1 M pending against 10 k',
  rounds: 5,
  measurements: {
    small: (quick) => costs(10_000, quick),
    large: (quick) => costs(quick ? 200_000 : 1_000_000, quick),
  },
  figures: (rounds) => [
    ...(Object.keys(OPERATIONS) as (keyof typeof OPERATIONS)[]).flatMap((operation) =>
      figuresOf(operation, rounds),
    ),
    {
      name: 'longest scheduleMany of 500, 1 M pending',
      unit: 'ms',
      values: valuesOf(rounds, 'large', 'longestScheduleMs'),
    },
  ],
};
