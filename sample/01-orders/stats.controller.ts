import { Controller, Get } from '@nestjs/common';
import { DelayQueueService, type TopicCounts } from '../../lib/index.js';
import { TOPICS } from './topics.js';

@Controller('stats')
export class StatsController {
  constructor(private readonly delayQueue: DelayQueueService) {}

  /** How each topic stands: what waits, what is due, what is in flight, what was given up. */
  @Get()
  async stats(): Promise<Record<string, TopicCounts>> {
    const counts = await Promise.all(
      TOPICS.map(async (topic) => [topic, await this.delayQueue.stats(topic)] as const),
    );
    return Object.fromEntries(counts);
  }
}
