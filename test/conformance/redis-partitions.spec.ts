import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { conformanceSteps, runCase } from '../../lib/testing/conformance/index.js';
import { redisHarness } from '../support/redis-harness.js';
import { hasRedisServer, RedisServer } from '../support/redis-server.js';

/** What a topic in one part promises and one in several does not: order between parts, bounds that are not divided. */
const PER_PART =
  /order|pages|oldest first|behind them|foretells|maxInFlight|rate|burst|token|purges|maxCount|due first|any history|due order|batch that is larger|by its own place|expired, between|its place|both instances|with 0 that more is due|leases end|retention|freed slot|last page/;

(hasRedisServer ? describe : describe.skip)('redis-server, each topic in 3 parts', () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await RedisServer.start();
  });

  afterAll(() => server.stop());

  const harness = redisHarness('redis: sorted-set, 3 parts', () => server.url, { partitions: 3 });
  for (const { step, cases } of conformanceSteps) {
    describe(step, () => {
      for (const conformanceCase of cases) {
        if (PER_PART.test(`${step} ${conformanceCase.name}`)) continue;
        it(
          conformanceCase.name,
          async () => {
            expect(await runCase(harness, conformanceCase)).toBeInstanceOf(Array);
          },
          60_000,
        );
      }
    });
  }
});
