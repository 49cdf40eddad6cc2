import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { ShopLogger } from './shop.logger.js';

const logger = new ShopLogger();

async function main(): Promise<void> {
  // Not aborting, so that a wrong setting is told below, in one line.
  const app = await NestFactory.create(AppModule.register(), { abortOnError: false, logger });
  // Without it, Ctrl-C would end the process as if it had died, in the middle of whatever is in flight.
  app.enableShutdownHooks();
  await app.listen(process.env.PORT ?? 3000);
  const url = (await app.getUrl()).replace('[::1]', 'localhost');
  logger.log(`open ${url} in a browser, or try:

  curl -s ${url}/orders -H 'content-type: application/json' \\
    -d '{"items":[{"name":"tea","quantity":2,"priceCents":450}],"totalCents":900}'
  curl -s ${url}/orders
  curl -s -X POST ${url}/orders/<id>/pay
  curl -s ${url}/stats
`);
}

main().catch((error: unknown) => {
  logger.fatal(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
