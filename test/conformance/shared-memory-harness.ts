import { ProviderClosedError } from '../../lib/delay-queue.errors.js';
import type { DelayQueueProvider, ProviderNotice } from '../../lib/providers/delay-queue.provider.js';
import type { ProviderHarness } from '../../lib/testing/conformance/index.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';
import { openMemory } from './memory-harness.js';

/** One of several instances on a memory provider that outlives them all, as a server would. */
export type Seat = (store: DelayQueueProvider) => DelayQueueProvider;

/** Closing it closes nothing but itself. */
export const soundSeat: Seat = (store) => {
  let closed = false;
  return new Proxy(store, {
    get(target, key) {
      if (key === 'features') return { ...target.features, durable: true };
      if (key === 'close') return async () => void (closed = true);
      const method: unknown = Reflect.get(target, key);
      // A promise that is given this object asks it for `then`.
      if (typeof method !== 'function') return method;
      if (key === 'onWake' || key === 'onAbort') return method.bind(target);
      return async (...args: unknown[]) => {
        if (closed) throw new ProviderClosedError(String(key));
        return method.apply(target, args) as unknown;
      };
    },
  });
};

/** Lets the cases about several instances run without a server; `secondSeat` may be at fault. */
export function sharedMemoryHarness(secondSeat: Seat = soundSeat): ProviderHarness {
  return {
    name: 'memory shared by several instances',
    async create(options = {}) {
      const clock = new VirtualClock();
      const reports: ProviderNotice[] = [];
      const queues = new Map<string, DelayQueueProvider>();
      const queue = async (name: string): Promise<DelayQueueProvider> => {
        const store =
          queues.get(name) ?? (await openMemory(options, clock, (notice) => reports.push(notice)));
        queues.set(name, store);
        return store;
      };
      return {
        provider: soundSeat(await queue('test')),
        clock,
        reports,
        openSecond: async ({ queueName = 'test' } = {}) => secondSeat(await queue(queueName)),
        dispose: async () => void (await Promise.all([...queues.values()].map((store) => store.close()))),
      };
    },
  };
}
