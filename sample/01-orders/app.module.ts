import { type DynamicModule, Module } from '@nestjs/common';
import { type Clock, DelayQueueModule } from '../../lib/index.js';
import { OrdersModule } from './orders/orders.module.js';
import { PageController } from './page.controller.js';
import { PaymentsModule } from './payments/payments.module.js';
import { type Env, providerFrom, ShopConfigModule } from './shop.config.js';
import { StatsController } from './stats.controller.js';

export interface AppOptions {
  /** @default process.env */
  readonly env?: Env;
  /** For tests: time that stands still until it is moved. @default the machine's clocks */
  readonly clock?: Clock;
}

@Module({})
export class AppModule {
  static register({ env = process.env, clock }: AppOptions = {}): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ShopConfigModule.register(env),
        DelayQueueModule.forRootAsync({ useFactory: () => ({ provider: providerFrom(env), clock }) }),
        OrdersModule,
        PaymentsModule,
      ],
      controllers: [PageController, StatsController],
    };
  }
}
