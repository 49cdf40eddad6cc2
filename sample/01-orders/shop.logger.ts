import { ConsoleLogger } from '@nestjs/common';

/** What Nest says while it boots, and its stacks of errors that `main.ts` tells in one line. */
const LEFT_OUT: ReadonlySet<unknown> = new Set([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
  'ExceptionHandler',
]);

/** Nest's own, with the time to the millisecond and without what nobody reads in a sample. */
export class ShopLogger extends ConsoleLogger {
  constructor() {
    super({ prefix: 'Shop' });
  }

  override log(message: unknown, ...rest: unknown[]): void {
    if (!LEFT_OUT.has(rest.at(-1))) super.log(message, ...rest);
  }

  override error(message: unknown, ...rest: unknown[]): void {
    if (!LEFT_OUT.has(rest.at(-1))) super.error(message, ...rest);
  }

  /** `14:03:07.251`, local time. */
  protected override getTimestamp(): string {
    const now = new Date();
    return `${now.toLocaleTimeString('en-GB')}.${String(now.getMilliseconds()).padStart(3, '0')}`;
  }
}
