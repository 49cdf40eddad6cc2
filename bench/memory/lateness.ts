import { Countdown } from '../harness/countdown.js';
import { median, nextTurn, percentile } from '../harness/measure.js';
import { addHandler, openQueue, TOPIC } from '../harness/queue.js';
import { type Figure, type Sample, type Scenario, valuesOf } from '../harness/scenario.js';
import { randomDelays } from '../harness/workload.js';
import type { Precision } from '../../lib/clock.js';

const JOBS = 1_000;
const SLOTS = 4;
const WITHIN_MS = 200;
const WARM_UP_ROUNDS = 2;

/** Has `started(index)` called `delayMs` from now. */
type ScheduleOne = (index: number, delayMs: number) => unknown;

/**
 * Measured from outside: the clock is read right before the call that schedules, so what the call itself takes counts
 * as lateness, and again when the handler starts. What the library says of itself plays no part.
 */
class Stopwatch {
  private readonly dueMs = new Float64Array(JOBS);
  private readonly startedMs = new Float64Array(JOBS);
  private readonly starts = new Countdown();

  readonly started = (index: number): void => {
    this.startedMs[index] = performance.now();
    this.starts.hit();
  };

  async run(schedule: ScheduleOne): Promise<readonly number[]> {
    const allStarted = this.starts.expect(JOBS);
    const delays = randomDelays(JOBS, 1, WITHIN_MS);
    const scheduled: unknown[] = [];
    // One a turn, as requests come in: a thousand at once would themselves be what the first ones are late by.
    for (let index = 0; index < JOBS; index++) {
      const delayMs = delays[index]!;
      this.dueMs[index] = performance.now() + delayMs;
      scheduled.push(schedule(index, delayMs));
      await nextTurn();
    }
    await Promise.all([allStarted, ...scheduled]);
    return Array.from(this.dueMs, (dueMs, index) => this.startedMs[index]! - dueMs);
  }
}

async function sampleOf(watch: Stopwatch, schedule: ScheduleOne, quick: boolean): Promise<Sample> {
  for (let round = 0; round < WARM_UP_ROUNDS; round++) await watch.run(schedule);

  const lateness: (readonly number[])[] = [];
  const cpuBefore = process.cpuUsage();
  const startedAtMs = performance.now();
  for (let round = 0; round < (quick ? 2 : 8); round++) lateness.push(await watch.run(schedule));
  const cpu = process.cpuUsage(cpuBefore);
  const cpuMs = (cpu.user + cpu.system) / 1_000;
  return {
    p50: median(lateness.map((values) => percentile(values, 0.5))),
    p99: median(lateness.map((values) => percentile(values, 0.99))),
    most: Math.max(...lateness.flat()),
    least: Math.min(...lateness.flat()),
    early: lateness.flat().filter((value) => value < 0).length / lateness.length,
    cpu: (cpuMs / (performance.now() - startedAtMs)) * 100,
  };
}

async function sampleQueue(precision: Precision, quick: boolean): Promise<Sample> {
  const watch = new Stopwatch();
  const queue = await openQueue({ provider: { type: 'memory', precision } });
  addHandler(queue, SLOTS, watch.started);
  await queue.start();
  const sample = await sampleOf(
    watch,
    (index, delay) => queue.service.schedule(TOPIC, index, { delay }),
    quick,
  );
  await queue.close();
  return sample;
}

function sampleTimers(quick: boolean): Promise<Sample> {
  const watch = new Stopwatch();
  return sampleOf(watch, (index, delayMs) => setTimeout(() => watch.started(index), delayMs), quick);
}

interface Targets {
  readonly p50?: number;
  readonly p99?: number;
  readonly early?: number;
}

function figuresOf(
  measurement: string,
  targets: Targets,
  ...[rounds]: Parameters<Scenario['figures']>
): Figure[] {
  const figure = (name: string, unit: string, value: string, atMost?: number): Figure => ({
    name: `${measurement}: ${name}`,
    unit,
    values: valuesOf(rounds, measurement, value),
    ...(atMost !== undefined && { target: { atMost } }),
  });
  return [
    figure('p50', 'ms', 'p50', targets.p50),
    figure('p99', 'ms', 'p99', targets.p99),
    figure('latest', 'ms', 'most'),
    figure('earliest', 'ms', 'least'),
    figure('early', 'of 1 000', 'early', targets.early),
    figure('CPU, one core', '%', 'cpu'),
  ];
}

export const scenario: Scenario = {
  title: 'lateness, 1 000 jobs within 200 ms, 4 slots',
  rounds: 5,
  measurements: {
    normal: (quick) => sampleQueue('normal', quick),
    high: (quick) => sampleQueue('high', quick),
    setTimeout: (quick) => sampleTimers(quick),
  },
  figures: (rounds) => [
    ...figuresOf('normal', { p50: 0.5, p99: 1.2, early: 0 }, rounds),
    ...figuresOf('high', { p50: 0.05, early: 0 }, rounds),
    ...figuresOf('setTimeout', {}, rounds),
  ],
};
