import { afterAll, beforeAll, describe } from '@jest/globals';
import { describeProvider } from '../../lib/testing/conformance/index.js';
import { redisHarness } from '../support/redis-harness.js';
import { hasRedisServer, RedisServer } from '../support/redis-server.js';

(hasRedisServer ? describe : describe.skip)('redis-server', () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await RedisServer.start();
  });

  afterAll(() => server.stop());

  describeProvider(redisHarness('redis: sorted-set', () => server.url));
});
