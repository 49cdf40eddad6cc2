import {
  type DynamicModule,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { ConfigurableModuleBuilder } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, ModulesContainer } from '@nestjs/core';
import {
  DEFAULT_QUEUE_NAME,
  DELAY_QUEUE_NAME,
  DELAY_QUEUE_OPTIONS,
  DELAY_QUEUE_RUNTIME,
  getDelayQueueToken,
} from './delay-queue.constants.js';
import { InvalidOptionsError } from './delay-queue.errors.js';
import { describeValue } from './describe-value.js';
import type { DelayQueueModuleExtras, DelayQueueOptions } from './delay-queue.options.js';
import { DelayQueueRuntime } from './delay-queue.runtime.js';
import { HandlerExplorer } from './handlers/handler-explorer.js';
import { QueueDirectory } from './handlers/queue-directory.js';
import { DelayQueueService } from './schedule/delay-queue.service.js';

/** Holds what belongs to one queue; imported by `DelayQueueModule`, never by the application. */
@Module({})
class DelayQueueCoreModule implements OnModuleInit, OnApplicationShutdown {
  constructor(
    @Inject(DELAY_QUEUE_RUNTIME) private readonly runtime: DelayQueueRuntime,
    private readonly discovery: DiscoveryService,
    private readonly modules: ModulesContainer,
  ) {
    QueueDirectory.of(modules).add(runtime.name);
  }

  /** Every instance exists by now, and no queue starts before all of these have run. */
  onModuleInit(): void {
    const handlers = new HandlerExplorer(this.discovery).explore();
    QueueDirectory.of(this.modules).assertQueuesOf(handlers);
    this.runtime.register(handlers);
  }

  /** After the servers have closed: a request that is still answered may schedule. */
  async onApplicationShutdown(): Promise<void> {
    await this.runtime.close();
  }
}

/**
 * Nest runs the bootstrap hooks from the deepest module to the root, and the destroy hooks the other way round (the
 * same way round before Nest 11). A queue must start after every module has bootstrapped, and drain before any is
 * destroyed; two otherwise empty modules at both ends of that order see to it. `distance` is public but not documented:
 * without it the hooks run at the place Nest gives them, which is right for modules that do not use each other's hooks.
 */
function moveTo(
  distance: number,
  modules: ModulesContainer,
  provider: new (...args: never[]) => unknown,
): void {
  for (const module of modules.values()) if (module.providers.has(provider)) module.distance = distance;
}

@Injectable()
class QueueStarter implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(
    modules: ModulesContainer,
    @Inject(DELAY_QUEUE_RUNTIME) private readonly runtime: DelayQueueRuntime,
  ) {
    moveTo(-1, modules, QueueStarter);
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.runtime.start();
  }

  async onModuleDestroy(): Promise<void> {
    await this.runtime.stop();
  }
}

@Injectable()
class QueueStopper implements OnModuleDestroy {
  constructor(
    modules: ModulesContainer,
    @Inject(DELAY_QUEUE_RUNTIME) private readonly runtime: DelayQueueRuntime,
  ) {
    moveTo(Infinity, modules, QueueStopper);
  }

  async onModuleDestroy(): Promise<void> {
    await this.runtime.stop();
  }
}

@Module({ providers: [QueueStarter] })
class QueueStarterModule {}

@Module({ providers: [QueueStopper] })
class QueueStopperModule {}

const { ConfigurableModuleClass, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<DelayQueueOptions>({ optionsInjectionToken: DELAY_QUEUE_OPTIONS })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createDelayQueueOptions')
    .setExtras<DelayQueueModuleExtras>({ name: DEFAULT_QUEUE_NAME, isGlobal: true }, assemble)
    .build();

/** Puts the builder's definition, which provides the options, into the core module and the two edges around it. */
function assemble(definition: DynamicModule, { name, isGlobal }: DelayQueueModuleExtras): DynamicModule {
  const queueName = checkName(name);
  const token = getDelayQueueToken(queueName);
  const serviceTokens = queueName === DEFAULT_QUEUE_NAME ? [token, DelayQueueService] : [token];
  const core: DynamicModule = {
    ...definition,
    module: DelayQueueCoreModule,
    imports: [...(definition.imports ?? []), DiscoveryModule],
    providers: [
      ...(definition.providers ?? []),
      { provide: DELAY_QUEUE_NAME, useValue: queueName },
      {
        provide: DELAY_QUEUE_RUNTIME,
        inject: [DELAY_QUEUE_NAME, DELAY_QUEUE_OPTIONS],
        useFactory: (queue: string, options: DelayQueueOptions) => DelayQueueRuntime.open(queue, options),
      },
      ...serviceTokens.map((provide) => ({
        provide,
        inject: [DELAY_QUEUE_RUNTIME],
        useFactory: (runtime: DelayQueueRuntime) => runtime.service,
      })),
    ],
    exports: [DELAY_QUEUE_RUNTIME, ...serviceTokens],
  };
  return {
    module: definition.module,
    global: isGlobal ?? true,
    imports: [
      core,
      { module: QueueStarterModule, imports: [core] },
      { module: QueueStopperModule, imports: [core] },
    ],
    exports: [core],
  };
}

function checkName(name: unknown): string {
  if (typeof name === 'string' && name !== '') return name;
  throw new InvalidOptionsError(
    'name',
    'Option name must be a string that is not empty. Leave it out for the default queue.',
  );
}

function assertObject(options: unknown, method: string, what: string): void {
  if (typeof options === 'object' && options !== null) return;
  throw new InvalidOptionsError(
    '',
    `${method} was given ${describeValue(options)}. Give an object with ${what}.`,
  );
}

/**
 * A delay queue. Import it once, in the root module; give each further queue of the application a `name`.
 * @example DelayQueueModule.forRoot({ provider: { type: 'memory' } })
 * @example DelayQueueModule.forRootAsync({ inject: [ConfigService], useFactory: (config: ConfigService) => ({ … }) })
 */
@Module({})
export class DelayQueueModule extends ConfigurableModuleClass {
  /** @throws InvalidOptionsError at boot, for an option that is unknown, of the wrong shape, or contradicts another */
  static override forRoot(options: typeof OPTIONS_TYPE = {}): DynamicModule {
    assertObject(options, 'forRoot', 'options, or nothing');
    return super.forRoot(options);
  }

  /** Like `forRoot`, the options made by `useFactory`, `useClass` or `useExisting`. */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    assertObject(options, 'forRootAsync', 'useFactory, useClass or useExisting');
    if (!options.useFactory && !options.useClass && !options.useExisting) {
      throw new InvalidOptionsError(
        'useFactory',
        'forRootAsync has nothing to make the options with. Give useFactory, useClass or useExisting.',
      );
    }
    return super.forRootAsync(options);
  }
}
