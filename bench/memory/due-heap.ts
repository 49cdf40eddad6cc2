import { rate } from '../harness/measure.js';
import { type Sample, type Scenario, valuesOf } from '../harness/scenario.js';
import { randomSource } from '../harness/workload.js';
import { DueHeap } from '../../lib/providers/memory/due-heap.js';

const HORIZON_MS = 86_400_000;
const BATCH = 1_000;

/**
 * The hold model (Jones, "An empirical comparison of priority-queue and event-set implementations", CACM 1986): what
 * is popped comes back at a random time after the head, so the heap keeps its size and its shape for as long as one
 * measures. Draining it instead would measure all the smaller sizes as well.
 */
function hold(pending: number, operations: number): Sample {
  const random = randomSource(pending);
  const heap = new DueHeap();
  let sequence = 0;
  for (let slot = 0; slot < pending; slot++) heap.push(slot, random() * HORIZON_MS, sequence++);

  const popped = new Int32Array(BATCH);
  const dues = new Float64Array(BATCH);
  let popMs = 0;
  let pushMs = 0;
  const batches = operations / BATCH;
  const warmUp = batches / 5;
  for (let batch = -warmUp; batch < batches; batch++) {
    const poppingAtMs = performance.now();
    for (let i = 0; i < BATCH; i++) popped[i] = heap.pop();
    const poppedAtMs = performance.now();
    for (let i = 0; i < BATCH; i++) dues[i] = heap.headDue + random() * HORIZON_MS;
    const pushingAtMs = performance.now();
    for (let i = 0; i < BATCH; i++) heap.push(popped[i]!, dues[i]!, sequence++);
    const pushedAtMs = performance.now();
    if (batch < 0) continue;
    popMs += poppedAtMs - poppingAtMs;
    pushMs += pushedAtMs - pushingAtMs;
  }
  if (heap.size !== pending) throw new Error(`The heap holds ${heap.size} slots instead of ${pending}.`);
  return {
    popNs: (popMs / operations) * 1e6,
    pushNs: (pushMs / operations) * 1e6,
    perS: rate(2 * operations, popMs + pushMs),
  };
}

function operationsOf(quick: boolean): number {
  return quick ? 200_000 : 2_000_000;
}

export const scenario: Scenario = {
  title: 'the heap alone',
  rounds: 5,
  measurements: {
    small: async (quick) => hold(10_000, operationsOf(quick)),
    large: async (quick) => hold(1_000_000, operationsOf(quick)),
  },
  figures: (rounds) => [
    { name: 'push, 10 k pending', unit: 'ns', values: valuesOf(rounds, 'small', 'pushNs') },
    { name: 'pop, 10 k pending', unit: 'ns', values: valuesOf(rounds, 'small', 'popNs') },
    { name: 'push, 1 M pending', unit: 'ns', values: valuesOf(rounds, 'large', 'pushNs') },
    { name: 'pop, 1 M pending', unit: 'ns', values: valuesOf(rounds, 'large', 'popNs') },
    {
      name: 'pushes and pops in all, 1 M pending',
      unit: '/s',
      values: valuesOf(rounds, 'large', 'perS'),
      target: { atLeast: 5_000_000 },
    },
  ],
};
