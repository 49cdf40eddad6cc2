import type { DelayQueueProvider, ProviderNotice } from '../../lib/providers/delay-queue.provider.js';
import type { RedisProviderOptions } from '../../lib/providers/redis/redis.options.js';
import { RedisProvider } from '../../lib/providers/redis/redis.provider.js';
import type { ProviderHarness } from '../../lib/testing/conformance/index.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';

let created = 0;

/** Runs the conformance suite against a server: each case under a prefix of its own, on a clock that tests move. */
export function redisHarness(
  name: string,
  connection: () => RedisProviderOptions['connection'],
  options: RedisProviderOptions = {},
  histories = 60,
): ProviderHarness {
  return {
    name,
    histories,
    // A server knows the wall clock only.
    features: { wallSteps: false },
    async create({ deadLetters } = {}) {
      const clock = new VirtualClock();
      const reports: ProviderNotice[] = [];
      const prefix = `c${process.pid}-${created++}`;
      const open: DelayQueueProvider[] = [];
      const openOne = async (queueName: string): Promise<DelayQueueProvider> => {
        const provider = new RedisProvider({ ...options, connection: connection(), prefix, time: 'clock' });
        open.push(provider);
        const retention = { maxCount: 1_000, maxAgeMs: 86_400_000, ...deadLetters };
        const report = (notice: ProviderNotice): void => void reports.push(notice);
        await provider.open({ clock, queueName, deadLetters: retention, report });
        return provider;
      };
      return {
        provider: await openOne('test'),
        clock,
        reports,
        openSecond: ({ queueName = 'test' } = {}) => openOne(queueName),
        dispose: async () => void (await Promise.all(open.map((provider) => provider.close()))),
      };
    },
    unopened: () => new RedisProvider(),
  };
}
