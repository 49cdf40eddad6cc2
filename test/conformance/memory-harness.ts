import type { Clock } from '../../lib/clock.js';
import type { DelayQueueProvider, ProviderNotice } from '../../lib/providers/delay-queue.provider.js';
import { MemoryProvider } from '../../lib/providers/memory/memory.provider.js';
import type { CreateOptions, ProviderHarness } from '../../lib/testing/conformance/index.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';

/** A clock that a broken provider can be made to misread. */
export class SkewedClock extends VirtualClock {
  skewMs = 0;

  override now(): number {
    return super.now() + this.skewMs;
  }

  override wallNow(): number {
    return super.wallNow() + this.skewMs;
  }
}

/** Puts something between the suite and the memory provider. */
export type Wrap = (provider: DelayQueueProvider, clock: SkewedClock) => DelayQueueProvider;

export async function openMemory(
  { deadLetters, maxPending }: CreateOptions,
  clock: Clock,
  report: (notice: ProviderNotice) => void,
): Promise<DelayQueueProvider> {
  const provider = new MemoryProvider(maxPending === undefined ? {} : { maxPending });
  const retention = { maxCount: 1_000, maxAgeMs: 86_400_000, ...deadLetters };
  await provider.open({ clock, queueName: 'test', deadLetters: retention, report });
  return provider;
}

export function memoryHarness(wrap: Wrap = (provider) => provider): ProviderHarness {
  return {
    name: 'memory',
    histories: 500,
    async create(options = {}) {
      const clock = new SkewedClock();
      const reports: ProviderNotice[] = [];
      const opened = await openMemory(options, clock, (notice) => reports.push(notice));
      const provider = wrap(opened, clock);
      return { provider, clock, reports, openSecond: undefined, dispose: () => opened.close() };
    },
    unopened: () => new MemoryProvider(),
  };
}
