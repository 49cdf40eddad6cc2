import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Controller,
  type DynamicModule,
  forwardRef,
  Get,
  Global,
  Inject,
  Injectable,
  Module,
  type ModuleMetadata,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
  type Provider,
  Scope,
  type Type,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, NestFactory } from '@nestjs/core';
import type { TestingModule } from '@nestjs/testing';
import {
  Delayed,
  DelayQueueModule,
  type DelayQueueOptions,
  DelayQueueService,
  DuplicateHandlerError,
  getDelayQueueToken,
  InjectDelayQueue,
  InvalidHandlerError,
  InvalidNameError,
  InvalidOptionsError,
  type Job,
} from '../../lib/index.js';
import { HandlerExplorer } from '../../lib/handlers/handler-explorer.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';
import { ChildApp } from '../support/child-app.js';
import { bootErrorOf, compileApp, startApp } from '../support/nest-app.js';
import { Signal } from '../support/signal.js';

/** What TypeScript would not let through comes from JavaScript and from casts. */
type Unchecked = never;

let clock: VirtualClock;
/** Who was called with what, in order; each handler below notes its call here. */
let calls: string[];
const note = (who: string, payload: unknown): void =>
  void calls.push(`${who}(${JSON.stringify(payload) ?? ''})`);

const apps: TestingModule[] = [];

beforeEach(() => {
  clock = new VirtualClock();
  calls = [];
});

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
  expect(clock.pendingAlarms).toBe(0);
});

function queue(options: DelayQueueOptions & { name?: string; isGlobal?: boolean } = {}): DynamicModule {
  return DelayQueueModule.forRoot({ clock, ...options });
}

/** Boots an application with one queue; closed after the test. */
async function boot(metadata: ModuleMetadata): Promise<TestingModule> {
  const app = await startApp({ ...metadata, imports: [queue(), ...(metadata.imports ?? [])] });
  apps.push(app);
  return app;
}

/** Schedules a job on each topic, and lets them run. @returns who was called */
async function run(app: TestingModule, ...topics: string[]): Promise<string[]> {
  for (const topic of topics) await app.get(DelayQueueService).schedule(topic, topic, { delay: 0 });
  await clock.advance(1);
  return calls;
}

function handlerOf(topic: string): Type<object> {
  @Injectable()
  class Mixin {
    @Delayed(topic)
    handle(payload: unknown): void {
      note(topic, payload);
    }
  }
  return Mixin;
}

/** A class that can only be made with something injected. */
function injectedHandlerOf(topic: string): Type<object> {
  class Handler {
    constructor(readonly suffix: string) {}
    @Delayed(topic)
    handle(payload: unknown): void {
      note(topic, payload);
    }
  }
  Injectable()(Handler);
  Inject('suffix')(Handler, undefined, 0);
  return Handler;
}

const Traced: MethodDecorator = (_target, _key, descriptor: PropertyDescriptor) => {
  const method = descriptor.value as (...args: unknown[]) => unknown;
  descriptor.value = function traced(this: unknown, ...args: unknown[]) {
    calls.push('traced');
    return method.apply(this, args);
  };
  return descriptor;
};

const Bound: MethodDecorator = (_target, key, descriptor: PropertyDescriptor) => {
  const method = descriptor.value as (...args: unknown[]) => unknown;
  return {
    configurable: true,
    get(this: object) {
      const value = method.bind(this);
      Object.defineProperty(this, key, { value });
      return value;
    },
  } as Unchecked;
};

describe('@Delayed is found', () => {
  it('on controllers and providers, in any module, with their injected services', async () => {
    @Injectable()
    class Greeter {
      greet(payload: unknown): void {
        note('Greeter', payload);
      }
    }
    @Controller('orders')
    class OrdersController {
      constructor(private readonly greeter: Greeter) {}
      @Get()
      @Delayed('controller')
      list(payload: unknown): void {
        this.greeter.greet(payload);
      }
    }
    @Injectable()
    class OrdersService {
      constructor(private readonly greeter: Greeter) {}
      @Delayed('provider')
      async expire(payload: unknown): Promise<void> {
        await Promise.resolve();
        this.greeter.greet(payload);
      }
    }
    @Module({ providers: [OrdersService, Greeter] })
    class DeepModule {}
    @Module({ imports: [DeepModule], controllers: [OrdersController], providers: [Greeter] })
    class OrdersModule {
      @Delayed('module')
      run(payload: unknown): void {
        note('OrdersModule', payload);
      }
    }

    const app = await boot({ imports: [OrdersModule] });

    expect(await run(app, 'controller', 'provider', 'module')).toEqual([
      'Greeter("controller")',
      'Greeter("provider")',
      'OrdersModule("module")',
    ]);
  });

  it('and called with payload and job on the instance', async () => {
    const seen: { payload: unknown; job: Job; self: unknown }[] = [];
    class Orders {
      @Delayed('work')
      work(payload: unknown, job: Job): void {
        seen.push({ payload, job, self: this });
      }
    }

    const app = await boot({ providers: [Orders] });
    await app.get(DelayQueueService).schedule('work', { n: 1 }, { delay: 0, id: 'a' });
    await clock.advance(1);

    expect(seen).toHaveLength(1);
    expect(seen[0]!.self).toBe(app.get(Orders));
    expect(seen[0]!.payload).toEqual({ n: 1 });
    expect(seen[0]!.job).toMatchObject({ id: 'a', topic: 'work', attempt: 1 });
  });

  it('on inherited methods, and on those that override them with the decorator, not on those without', async () => {
    class Base {
      @Delayed('inherited')
      inherited(payload: unknown): void {
        note(this.constructor.name, payload);
      }
      @Delayed('overridden')
      overridden(payload: unknown): void {
        note('Base.overridden', payload);
      }
      @Delayed('hidden')
      hidden(payload: unknown): void {
        note('Base.hidden', payload);
      }
      @Delayed('renamed')
      renamed(payload: unknown): void {
        note('Base.renamed', payload);
      }
    }
    class Middle extends Base {}
    class Child extends Middle {
      @Delayed('overridden')
      override overridden(payload: unknown): void {
        note('Child.overridden', payload);
      }
      override hidden(payload: unknown): void {
        note('Child.hidden', payload);
      }
      @Delayed('renamed by child')
      override renamed(payload: unknown): void {
        note('Child.renamed', payload);
      }
    }

    const app = await boot({ providers: [Child] });

    expect(await run(app, 'inherited', 'overridden', 'hidden', 'renamed', 'renamed by child')).toEqual([
      'Child("inherited")',
      'Child.overridden("overridden")',
      'Child.renamed("renamed by child")',
    ]);
    expect(await app.get(DelayQueueService).stats('hidden')).toMatchObject({ pending: 1 });
    expect(await app.get(DelayQueueService).stats('renamed')).toMatchObject({ pending: 1 });
  });

  it('on two children of one abstract base without getting mixed up (B249)', async () => {
    abstract class Base {
      abstract readonly who: string;
      handle(payload: unknown): void {
        note(this.who, payload);
      }
    }
    class A extends Base {
      readonly who = 'A';
      @Delayed('a')
      a(payload: unknown): void {
        this.handle(payload);
      }
    }
    class B extends Base {
      readonly who = 'B';
      @Delayed('b')
      b(payload: unknown): void {
        this.handle(payload);
      }
      @Delayed('handle')
      override handle(payload: unknown): void {
        super.handle(payload);
      }
    }

    const app = await boot({ providers: [A, B] });

    expect(await run(app, 'a', 'b', 'handle')).toEqual(['A("a")', 'B("b")', 'B("handle")']);
  });

  it('on the base for the one child that is provided, together with its own (B249)', async () => {
    class Base {
      @Delayed('x')
      x(payload: unknown): void {
        note(`${this.constructor.name}.x`, payload);
      }
    }
    class A extends Base {
      @Delayed('a')
      a(payload: unknown): void {
        note('A.a', payload);
      }
    }
    class B extends Base {
      @Delayed('b')
      b(payload: unknown): void {
        note('B.b', payload);
      }
    }
    expect(new B()).toBeInstanceOf(Base);

    const app = await boot({ providers: [A] });

    expect(await run(app, 'x', 'a', 'b')).toEqual(['A.x("x")', 'A.a("a")']);
    expect(await app.get(DelayQueueService).stats('b')).toMatchObject({ pending: 1 });
  });

  it('on the classes a mixin makes, each with its own topic (B249)', async () => {
    const app = await boot({ providers: [handlerOf('one'), handlerOf('two')] });

    expect(await run(app, 'one', 'two')).toEqual(['one("one")', 'two("two")']);
  });

  it('several times on one method, once for each topic (B247)', async () => {
    class Orders {
      @Delayed('a', { maxAttempts: 2 })
      @Delayed('b', { maxAttempts: 3 })
      @Delayed('c')
      handle(payload: unknown, job: Job): void {
        note(`${job.topic} of ${job.maxAttempts}`, payload);
      }
    }

    const app = await boot({ providers: [Orders] });

    expect(await run(app, 'a', 'b', 'c')).toEqual(['a of 2("a")', 'b of 3("b")', 'c of 5("c")']);
  });

  it('on methods named by a symbol, a number, a keyword, or kept private (B251)', async () => {
    const key = Symbol('handle');
    class Orders {
      private readonly who = 'Orders';
      @Delayed('symbol')
      [key](payload: unknown): void {
        note(this.who, payload);
      }
      @Delayed('number')
      42(payload: unknown): void {
        note(this.who, payload);
      }
      @Delayed('keyword')
      delete(payload: unknown): void {
        note(this.who, payload);
      }
      @Delayed('private')
      private secret(payload: unknown): void {
        note(this.who, payload);
      }
      touch(): void {
        void this.secret;
      }
    }

    const app = await boot({ providers: [Orders] });

    expect(await run(app, 'symbol', 'number', 'keyword', 'private')).toEqual([
      'Orders("symbol")',
      'Orders("number")',
      'Orders("keyword")',
      'Orders("private")',
    ]);
  });

  it('on providers made in any way, under any kind of token (B245)', async () => {
    const [Plain, ByValue, ByFactory, ByAsyncFactory, ByClass, ByString] = [
      'plain',
      'value',
      'factory',
      'async factory',
      'class',
      'string',
    ].map(injectedHandlerOf);
    const providers: Provider[] = [
      { provide: 'suffix', useValue: '!' },
      Plain!,
      { provide: Symbol('value'), useValue: new ByValue!('v') },
      {
        provide: Symbol('factory'),
        inject: ['suffix'],
        useFactory: (suffix: string) => new ByFactory!(suffix),
      },
      { provide: Symbol('async'), useFactory: async () => new ByAsyncFactory!('a') },
      { provide: Symbol('class'), useClass: ByClass! },
      { provide: 'a string', useClass: ByString! },
    ];

    const app = await boot({ providers });

    const topics = ['plain', 'value', 'factory', 'async factory', 'class', 'string'];
    expect(await run(app, ...topics)).toEqual(topics.map((topic) => `${topic}("${topic}")`));
  });

  it('once on one instance, however many tokens, aliases and modules lead to it', async () => {
    class Orders {
      @Delayed('work')
      work(payload: unknown): void {
        note('Orders', payload);
      }
    }
    const instance = new Orders();
    @Module({ providers: [{ provide: 'elsewhere', useValue: instance }], exports: ['elsewhere'] })
    class OtherModule {}

    const app = await boot({
      imports: [OtherModule],
      providers: [
        { provide: 'one', useValue: instance },
        { provide: 'two', useFactory: () => instance },
        { provide: 'three', useExisting: 'one' },
        { provide: Orders, useExisting: 'two' },
        { provide: 'five', inject: ['one'], useFactory: (one: Orders) => one },
      ],
    });

    expect(await run(app, 'work')).toEqual(['Orders("work")']);
  });

  it('once on a class that several modules import from the one that provides it', async () => {
    @Injectable()
    class Orders {
      @Delayed('work')
      work(payload: unknown): void {
        note('Orders', payload);
      }
    }
    @Module({ providers: [Orders], exports: [Orders] })
    class OrdersModule {}
    @Module({ imports: [OrdersModule], exports: [OrdersModule] })
    class OneModule {}
    @Module({ imports: [OrdersModule, OneModule] })
    class TwoModule {}

    const app = await boot({ imports: [OneModule, TwoModule, OrdersModule] });

    expect(await run(app, 'work')).toEqual(['Orders("work")']);
  });

  it('on the replacement a test puts in the place of a provider', async () => {
    class Orders {
      @Delayed('work')
      work(payload: unknown): void {
        note('Orders', payload);
      }
    }
    class FakeOrders {
      @Delayed('work')
      work(payload: unknown): void {
        note('FakeOrders', payload);
      }
    }
    const { Test } = await import('@nestjs/testing');
    const app = await Test.createTestingModule({ imports: [queue()], providers: [Orders] })
      .overrideProvider(Orders)
      .useClass(FakeOrders)
      .compile();
    apps.push(await app.init());

    expect(await run(app, 'work')).toEqual(['FakeOrders("work")']);
  });

  it('and looked up at each call, so that spies take part', async () => {
    class Orders {
      @Delayed('work')
      work(payload: unknown): void {
        note('Orders', payload);
      }
    }
    const app = await boot({ providers: [Orders] });

    app.get(Orders).work = (payload) => note('spy', payload);

    expect(await run(app, 'work')).toEqual(['spy("work")']);
  });

  it('below and above a decorator that wraps the method, the wrapper included (B253)', async () => {
    class Orders {
      readonly who = 'Orders';
      @Traced
      @Delayed('below')
      below(payload: unknown): void {
        note(this.who, payload);
      }
      @Delayed('above')
      @Traced
      above(payload: unknown): void {
        note(this.who, payload);
      }
    }

    const app = await boot({ providers: [Orders] });

    expect(await run(app, 'below', 'above')).toEqual([
      'traced',
      'Orders("below")',
      'traced',
      'Orders("above")',
    ]);
  });

  it('below a decorator that turns the method into an accessor, or the boot fails aloud (B251, B253)', async () => {
    class Orders {
      @Bound
      @Delayed('work')
      work(payload: unknown): void {
        note('Orders', payload);
      }
    }

    let app: TestingModule;
    try {
      app = await boot({ providers: [Orders] });
    } catch (error) {
      expect(error).toBeInstanceOf(InvalidHandlerError);
      return;
    }

    expect(await run(app, 'work')).toEqual(['Orders("work")']);
  });

  it('where two services refer to each other, in one module and across two (B263)', async () => {
    @Injectable()
    class Handler {
      constructor(@Inject(forwardRef(() => Scheduler)) readonly scheduler: object) {}
      @Delayed('work')
      work(payload: unknown): void {
        note(`Handler with ${this.scheduler.constructor.name}`, payload);
      }
    }
    @Injectable()
    class Scheduler {
      constructor(
        @Inject(forwardRef(() => Handler)) readonly handler: Handler,
        private readonly delayQueue: DelayQueueService,
      ) {}
      later(): Promise<unknown> {
        return this.delayQueue.schedule('work', 'later', { delay: 5 });
      }
    }
    @Module({ imports: [forwardRef(() => SchedulerModule)], providers: [Handler], exports: [Handler] })
    class HandlerModule {}
    @Module({ imports: [forwardRef(() => HandlerModule)], providers: [Scheduler], exports: [Scheduler] })
    class SchedulerModule {}

    for (const metadata of [
      { providers: [Handler, Scheduler] },
      { imports: [HandlerModule, SchedulerModule] },
    ]) {
      calls = [];
      const app = await boot(metadata);
      await app.get(Scheduler).later();
      await clock.advance(5);

      expect(calls).toEqual(['Handler with Scheduler("later")']);
    }
  });
});

describe('the search for handlers', () => {
  it('runs no getter, on instances, prototypes or values, whatever it does (B241)', async () => {
    const touched: string[] = [];
    class Base {
      get inherited(): never {
        touched.push('inherited');
        throw new Error('inherited');
      }
    }
    class Guarded extends Base {
      constructor() {
        super();
        Object.defineProperty(this, 'own', {
          enumerable: true,
          get: () => {
            touched.push('own');
            throw new Error('own');
          },
        });
      }
      get throwing(): never {
        touched.push('throwing');
        throw new Error('throwing');
      }
      get method(): () => void {
        touched.push('method');
        return () => undefined;
      }
      set method(_value) {
        touched.push('setter');
      }
      static get fixed(): never {
        touched.push('static');
        throw new Error('static');
      }
      @Delayed('work')
      work(payload: unknown): void {
        note('Guarded', payload);
      }
    }
    const value = Object.defineProperty({}, 'trap', {
      enumerable: true,
      get: () => {
        touched.push('value');
        throw new Error('value');
      },
    });

    const app = await boot({
      controllers: [],
      providers: [
        Guarded,
        { provide: 'value', useValue: value },
        { provide: 'made', useFactory: () => value },
      ],
    });

    expect(await run(app, 'work')).toEqual(['Guarded("work")']);
    expect(touched).toEqual([]);
  });

  it('passes over values of every kind', async () => {
    class Orders {
      @Delayed('work')
      work(payload: unknown): void {
        note('Orders', payload);
      }
    }
    const values = [
      null,
      undefined,
      0,
      '',
      'text',
      5n,
      true,
      Symbol('s'),
      Math.sqrt,
      Date,
      [],
      Object.create(null),
    ];

    const app = await boot({
      providers: [
        ...values.map((useValue, n) => ({ provide: `value ${n}`, useValue })),
        ...values.map((value, n) => ({ provide: `made ${n}`, useFactory: () => value })),
        Orders,
      ],
    });

    expect(await run(app, 'work')).toEqual(['Orders("work")']);
  });

  it.each<[string, (proxy: object) => Provider]>([
    ['given as a value', (proxy) => ({ provide: 'odd', useValue: proxy })],
    ['made by a factory', (proxy) => ({ provide: 'odd', useFactory: () => proxy })],
    [
      'that is the prototype of a value',
      (proxy) => ({ provide: 'odd', useValue: Object.create(proxy) as object }),
    ],
  ])('passes over a Proxy whose every trap throws, %s (B243)', async (_what, providerOf) => {
    class Orders {
      @Delayed('work')
      work(): void {}
    }
    let isArmed = false;
    const guard = (act: (...args: never[]) => unknown) =>
      ((...args: never[]) => {
        if (isArmed) throw new Error('outside of a context');
        return act(...args);
      }) as never;
    const { get, has, getPrototypeOf, ownKeys, getOwnPropertyDescriptor } = Reflect;
    const proxy: object = new Proxy(
      {},
      {
        get: guard(get),
        has: guard(has),
        getPrototypeOf: guard(getPrototypeOf),
        ownKeys: guard(ownKeys),
        getOwnPropertyDescriptor: guard(getOwnPropertyDescriptor),
      },
    );
    const app = await compileApp({ imports: [DiscoveryModule], providers: [providerOf(proxy), Orders] });

    // Nest itself looks at instances while it makes them, and at their hooks later; the search alone is the subject.
    isArmed = true;
    try {
      const found = new HandlerExplorer(app.get(DiscoveryService)).explore();
      expect(found.map(({ name }) => name)).toEqual(['Orders.work']);
    } finally {
      isArmed = false;
      await app.close();
    }
  });
});

async function refusal(metadata: ModuleMetadata): Promise<Error> {
  return bootErrorOf({ ...metadata, imports: [queue(), ...(metadata.imports ?? [])] });
}

describe('the boot is refused', () => {
  class Orders {
    @Delayed('order.expire')
    expire(): void {}
  }
  class Audit {
    @Delayed('order.expire')
    onExpired(): void {}
  }

  it('for two handlers of one topic, naming both', async () => {
    const error = await refusal({ providers: [Orders], controllers: [Audit] });

    expect(error).toBeInstanceOf(DuplicateHandlerError);
    expect(error).toMatchObject({ code: 'DUPLICATE_HANDLER', topic: 'order.expire' });
    expect(error.message).toMatch(/topic "order\.expire"/);
    expect(error.message).toContain('Orders.expire');
    expect(error.message).toContain('Audit.onExpired');
    expect(error.message).toMatch(/Rename one topic, or call both from one handler/);
  });

  it('for one class in two modules, which makes two instances, naming both modules', async () => {
    @Module({ providers: [Orders] })
    class ShopModule {}
    @Module({ providers: [Orders] })
    class BackOfficeModule {}

    const error = await refusal({ imports: [ShopModule, BackOfficeModule] });

    expect(error).toBeInstanceOf(DuplicateHandlerError);
    expect(error.message).toContain('Orders.expire (ShopModule)');
    expect(error.message).toContain('Orders.expire (BackOfficeModule)');
  });

  it('for one class under two tokens, which makes two instances', async () => {
    const error = await refusal({ providers: [Orders, { provide: 'again', useClass: Orders }] });

    expect(error).toBeInstanceOf(DuplicateHandlerError);
  });

  it('for a base whose topic two children inherit, naming both children', async () => {
    class A extends Orders {}
    class B extends Orders {}

    const error = await refusal({ providers: [A, B] });

    expect(error).toBeInstanceOf(DuplicateHandlerError);
    expect(error.message).toContain('A.expire');
    expect(error.message).toContain('B.expire');
  });

  it('for a topic that stands twice on one method', async () => {
    class Twice {
      @Delayed('x')
      @Delayed('x')
      x(): void {}
    }

    expect(await refusal({ providers: [Twice] })).toBeInstanceOf(DuplicateHandlerError);
  });

  it('for a queue that is not there, naming it, the method, and those that are', async () => {
    class Lost {
      @Delayed('x', { queue: 'biling' })
      onX(): void {}
    }

    const error = await bootErrorOf({ imports: [queue(), queue({ name: 'billing' })], providers: [Lost] });

    expect(error).toBeInstanceOf(InvalidHandlerError);
    expect(error.message).toContain('Lost.onX handles topic "x" of queue "biling"');
    expect(error.message).toMatch(/"default", "billing"/);
    expect(error.message).toMatch(/forRoot\(\{ name: "biling"/);
  });

  it('for two queues of one name, naming it', async () => {
    const unnamed = await bootErrorOf({ imports: [queue(), queue()] });
    const named = await bootErrorOf({ imports: [queue({ name: 'billing' }), queue({ name: 'billing' })] });

    expect(unnamed).toBeInstanceOf(InvalidOptionsError);
    expect(unnamed.message).toMatch(/Two delay queues are named "default"/);
    expect(named.message).toMatch(
      /Two delay queues are named "billing"\. Import one of them only, or give one another name/,
    );
  });

  it('for request-scoped and transient handlers, by themselves or through what they inject, naming the class (B239)', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Tenant {}
    @Injectable()
    class Repository {
      constructor(readonly tenant: Tenant) {}
    }
    @Injectable({ scope: Scope.REQUEST })
    class RequestScoped {
      @Delayed('x')
      onX(): void {}
    }
    @Injectable({ scope: Scope.TRANSIENT })
    class Transient {
      @Delayed('x')
      onX(): void {}
    }
    @Injectable()
    class Deep {
      constructor(readonly repository: Repository) {}
      @Delayed('x')
      onX(): void {}
    }
    @Controller({ path: 'x', scope: Scope.REQUEST })
    class ScopedController {
      @Delayed('x')
      onX(): void {}
    }
    @Injectable()
    class Child extends RequestScoped {
      constructor(readonly tenant: Tenant) {
        super();
      }
    }

    for (const provider of [RequestScoped, Transient, Deep, Child]) {
      const error = await refusal({ providers: [Tenant, Repository, provider] });

      expect(error).toBeInstanceOf(InvalidHandlerError);
      expect(error.message).toContain(`${provider.name}.onX handles topic "x"`);
      expect(error.message).toMatch(
        /request-scoped or transient.*Move the handler to a class of default scope/,
      );
    }
    const error = await refusal({ controllers: [ScopedController] });
    expect(error.message).toContain('ScopedController.onX');
  });

  it('for a request-scoped class under a symbol, naming the class (B239)', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Hidden {
      @Delayed('x')
      onX(): void {}
    }

    const error = await refusal({ providers: [{ provide: Symbol('token'), useClass: Hidden }] });

    expect(error).toBeInstanceOf(InvalidHandlerError);
    expect(error.message).toContain('Hidden.onX');
  });

  it('not for a handler that injects something transient, of which it has its own (B239)', async () => {
    @Injectable({ scope: Scope.TRANSIENT })
    class Own {
      readonly name = 'Own';
    }
    @Injectable()
    class Handler {
      constructor(readonly own: Own) {}
      @Delayed('work')
      work(payload: unknown): void {
        note(this.own.name, payload);
      }
    }

    const app = await boot({ providers: [Own, Handler] });

    expect(await run(app, 'work')).toEqual(['Own("work")']);
  });

  it('not for the same topic in two queues', async () => {
    class Both {
      @Delayed('x')
      onDefault(payload: unknown): void {
        note('default', payload);
      }
      @Delayed('x', { queue: 'billing' })
      onBilling(payload: unknown): void {
        note('billing', payload);
      }
    }
    const app = await boot({ imports: [queue({ name: 'billing' })], providers: [Both] });

    await app.get(DelayQueueService).schedule('x', 1, { delay: 0 });
    await app.get<DelayQueueService>(getDelayQueueToken('billing')).schedule('x', 2, { delay: 0 });
    await clock.advance(1);

    expect(calls.toSorted()).toEqual(['billing(2)', 'default(1)']);
  });
});

const decorate = (make: () => unknown): Error => {
  try {
    make();
  } catch (error) {
    return error as Error;
  }
  throw new Error('It was taken.');
};

describe('@Delayed is refused where nobody could call it (B251)', () => {
  it('on a static method', () => {
    const error = decorate(() => {
      class Orders {
        @Delayed('x')
        static onX(): void {}
      }
      return Orders;
    });

    expect(error).toBeInstanceOf(InvalidHandlerError);
    expect(error.message).toMatch(
      /@Delayed\("x"\) on Orders\.onX: a static method .* Put it on an instance method\./,
    );
  });

  it('on an arrow function, and any other property', () => {
    const error = decorate(() => {
      class Orders {
        @(Delayed('x') as PropertyDecorator)
        onX = (): void => undefined;
      }
      return Orders;
    });

    expect(error).toBeInstanceOf(InvalidHandlerError);
    expect(error.message).toMatch(
      /@Delayed\("x"\) on Orders\.onX: it is a property or an accessor, not a method/,
    );
  });

  it('on a getter and on a setter', () => {
    const onGetter = decorate(() => {
      class Orders {
        @Delayed('x')
        get onX(): () => void {
          return () => undefined;
        }
      }
      return Orders;
    });
    const onSetter = decorate(() => {
      class Orders {
        @Delayed('x')
        set onX(_value: unknown) {}
      }
      return Orders;
    });

    for (const error of [onGetter, onSetter]) {
      expect(error).toBeInstanceOf(InvalidHandlerError);
      expect(error.message).toMatch(/it is a property or an accessor, not a method/);
    }
  });

  it('on a generator and on an asynchronous one', () => {
    const onGenerator = decorate(() => {
      class Orders {
        @Delayed('x')
        *onX(): Generator<number> {
          yield 1;
        }
      }
      return Orders;
    });
    const onAsyncGenerator = decorate(() => {
      class Orders {
        @Delayed('x')
        async *onX(): AsyncGenerator<number> {
          yield 1;
        }
      }
      return Orders;
    });

    for (const error of [onGenerator, onAsyncGenerator]) {
      expect(error).toBeInstanceOf(InvalidHandlerError);
      expect(error.message).toMatch(/@Delayed\("x"\) on Orders\.onX: .*generator/);
    }
  });

  it('on a class, and on a parameter', () => {
    for (const target of [
      () => (Delayed('x') as unknown as ClassDecorator)(class {} as Unchecked),
      () => {
        class Orders {
          onX(@(Delayed('x') as unknown as ParameterDecorator) _payload: unknown): void {}
        }
        return Orders;
      },
    ]) {
      expect(decorate(target)).toBeInstanceOf(InvalidHandlerError);
    }
  });

  it.each(['', 'x'.repeat(256), 'a\nb', undefined, null, 5, {}])('with %j for a topic', (topic) => {
    const error = decorate(() => {
      class Orders {
        @Delayed(topic as Unchecked)
        onX(): void {}
      }
      return Orders;
    });

    expect(error).toBeInstanceOf(InvalidNameError);
    expect(error.message).toMatch(/^Cannot mark Orders\.onX with @Delayed: topic /);
  });

  it.each([null, 5, 'queue', []])('with %j for options, at the latest at boot', async (options) => {
    const make = (): Type<object> => {
      class Orders {
        @Delayed('x', options as Unchecked)
        onX(): void {}
      }
      return Orders;
    };

    const error = await bootErrorOf(() => ({ imports: [queue()], providers: [make()] }));

    expect(error).toBeInstanceOf(InvalidOptionsError);
    expect(error.message).toMatch(/Orders\.onX/);
  });

  it.each(['', 5, null])('with %j for a queue, at the latest at boot', async (name) => {
    class Orders {
      @Delayed('x', { queue: name as Unchecked })
      onX(): void {}
    }

    const error = await bootErrorOf({ imports: [queue()], providers: [Orders] });

    expect(error).toBeInstanceOf(InvalidHandlerError);
    expect(error.message).toMatch(/Orders\.onX/);
  });
});

describe('several queues', () => {
  @Injectable()
  class Billing {
    constructor(
      @InjectDelayQueue('billing') readonly billing: DelayQueueService,
      @InjectDelayQueue() readonly standard: DelayQueueService,
      readonly byClass: DelayQueueService,
    ) {}
    @InjectDelayQueue('billing')
    readonly property!: DelayQueueService;

    @Delayed('invoice.due', { queue: 'billing' })
    onDue(payload: unknown): void {
      note('billing', payload);
    }
    @Delayed('order.expire')
    onExpire(payload: unknown): void {
      note('default', payload);
    }
  }

  it('stand side by side, each with its own store, service and handlers (B257)', async () => {
    const app = await boot({ imports: [queue({ name: 'billing' })], providers: [Billing] });
    const { billing, standard, byClass, property } = app.get(Billing);

    await billing.schedule('invoice.due', 1, { delay: 0 });
    await standard.schedule('order.expire', 2, { delay: 0 });
    // On the wrong queue nobody handles it: it waits.
    await standard.schedule('invoice.due', 3, { delay: 0 });
    await clock.advance(1);

    expect(calls.toSorted()).toEqual(['billing(1)', 'default(2)']);
    expect([billing.name, standard.name]).toEqual(['billing', 'default']);
    expect(byClass).toBe(standard);
    expect(property).toBe(billing);
    expect(billing).toBe(app.get(getDelayQueueToken('billing')));
    expect(await standard.stats('invoice.due')).toMatchObject({ pending: 1 });
    expect(await billing.stats('invoice.due')).toMatchObject({ pending: 0 });
    expect(await billing.cancel('order.expire', 'x')).toBe('unknown');
  });

  it('have options of their own', async () => {
    const seen: number[] = [];
    class Handlers {
      @Delayed('x')
      a(_payload: unknown, job: Job): void {
        seen.push(job.maxAttempts);
      }
      @Delayed('x', { queue: 'billing' })
      b(_payload: unknown, job: Job): void {
        seen.push(job.maxAttempts);
      }
    }
    const app = await boot({
      imports: [queue({ name: 'billing', defaults: { maxAttempts: 9 } })],
      providers: [Handlers],
    });

    await app.get(DelayQueueService).schedule('x', 1, { delay: 0 });
    await clock.advance(1);
    await app.get<DelayQueueService>(getDelayQueueToken('billing')).schedule('x', 1, { delay: 0 });
    await clock.advance(1);

    expect(seen).toEqual([5, 9]);
  });

  it('that are named only leave the class without a service', async () => {
    const error = await bootErrorOf({
      imports: [queue({ name: 'billing' })],
      providers: [{ provide: 'x', inject: [DelayQueueService], useFactory: () => 1 }],
    });

    expect(error.message).toMatch(/DelayQueueService/);
  });

  it('that are not global are injected only where they are imported', async () => {
    const local = queue({ isGlobal: false });
    @Injectable()
    class User {
      constructor(readonly delayQueue: DelayQueueService) {}
    }
    @Module({ imports: [local], providers: [User] })
    class InsideModule {}
    @Module({ providers: [User] })
    class OutsideModule {}

    const app = await startApp({ imports: [InsideModule] });
    expect(app.get(User).delayQueue).toBeInstanceOf(DelayQueueService);
    await app.close();
    const error = await bootErrorOf({ imports: [InsideModule, OutsideModule] });
    expect(error.message).toMatch(/OutsideModule/);
  });

  it('are one where one definition is imported twice', async () => {
    const one = queue();
    @Module({ imports: [one] })
    class FeatureModule {}
    class Orders {
      @Delayed('work')
      work(payload: unknown): void {
        note('Orders', payload);
      }
    }

    const app = await startApp({ imports: [one, FeatureModule], providers: [Orders] });
    apps.push(app);

    expect(await run(app, 'work')).toEqual(['Orders("work")']);
  });
});

describe('the place of the module', () => {
  @Injectable()
  class Orders implements OnModuleInit {
    constructor(readonly delayQueue: DelayQueueService) {}
    async onModuleInit(): Promise<void> {
      await this.delayQueue.schedule('work', 'from init', { delay: 0 });
    }
    @Delayed('work')
    work(payload: unknown): void {
      note('Orders', payload);
    }
  }
  @Module({ providers: [Orders] })
  class OrdersModule {}

  it('makes no difference: first, last, deep, global or not (B259)', async () => {
    const [first, last, deep, viaGlobal, local] = Array.from({ length: 5 }, () => queue());
    @Module({ imports: [deep!] })
    class DeepModule {}
    @Module({ imports: [DeepModule] })
    class LessDeepModule {}
    @Global()
    @Module({ imports: [viaGlobal!], exports: [viaGlobal!] })
    class GlobalModule {}
    @Module({ imports: [local!], providers: [Orders] })
    class LocalModule {}

    for (const imports of [
      [first!, OrdersModule],
      [OrdersModule, last!],
      [OrdersModule, LessDeepModule],
      [OrdersModule, GlobalModule],
      [LocalModule],
    ]) {
      calls = [];
      const app = await startApp({ imports });
      await clock.advance(1);

      expect(calls).toEqual(['Orders("from init")']);
      await app.close();
    }
  });
});

describe('two applications in one process', () => {
  it('have separate stores, handlers and lives, although they are made of the same module (B255)', async () => {
    @Injectable()
    class Orders {
      ran: unknown[] = [];
      @Delayed('work')
      work(payload: unknown): void {
        this.ran.push(payload);
      }
    }
    @Module({ imports: [queue()], providers: [Orders] })
    class AppModule {}
    const [one, two] = [await startApp({ imports: [AppModule] }), await startApp({ imports: [AppModule] })];

    await one.get(DelayQueueService).schedule('work', 'one', { delay: 10, id: 'same' });
    await two.get(DelayQueueService).schedule('work', 'two', { delay: 10, id: 'same' });
    await one.get(DelayQueueService).schedule('work', 'lost', { delay: 20 });
    await clock.advance(10);
    await one.close();
    await two.get(DelayQueueService).schedule('work', 'two again', { delay: 10 });
    await clock.advance(100);

    expect(one.get(Orders).ran).toEqual(['one']);
    expect(two.get(Orders).ran).toEqual(['two', 'two again']);
    await two.close();
  });

  it('can follow each other', async () => {
    class Orders {
      @Delayed('work')
      work(payload: unknown): void {
        note('Orders', payload);
      }
    }
    for (let n = 0; n < 3; n++) {
      const app = await startApp({ imports: [queue()], providers: [Orders] });
      await run(app, 'work');
      await app.close();
    }

    expect(calls).toHaveLength(3);
  });
});

/** What keeps a process alive. */
const timers = (): string[] =>
  process.getActiveResourcesInfo().filter((kind) => /Timeout|Immediate/.test(kind));

/** A hook that takes several turns of the event loop. */
const slow = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};

describe('the life of an application', () => {
  it('claims nothing before every bootstrap hook has finished, slow ones and those of any module included', async () => {
    const log: string[] = [];
    function noisy(name: string): Type<object> {
      @Injectable()
      class Noisy implements OnApplicationBootstrap {
        async onApplicationBootstrap(): Promise<void> {
          await slow();
          log.push(name);
        }
      }
      return Noisy;
    }
    @Injectable()
    class Handler implements OnModuleInit {
      constructor(readonly delayQueue: DelayQueueService) {}
      async onModuleInit(): Promise<void> {
        await this.delayQueue.schedule('work', null, { delay: 0 });
        await this.delayQueue.schedule('work', null, { at: 0 });
      }
      @Delayed('work')
      work(): void {
        log.push('ran');
      }
    }
    @Module({ providers: [noisy('deepest')] })
    class DeepestModule {}
    @Module({ imports: [DeepestModule], providers: [noisy('deep'), Handler] })
    class DeepModule {}
    @Global()
    @Module({ providers: [noisy('global')] })
    class GlobalModule {}
    @Module({
      imports: [DeepModule, queue(), GlobalModule],
      providers: [noisy('root')],
      controllers: [noisy('controller')],
    })
    class RootModule implements OnApplicationBootstrap {
      async onApplicationBootstrap(): Promise<void> {
        await slow();
        log.push('module class');
      }
    }

    const app = await startApp({ imports: [RootModule], providers: [noisy('outermost')] });
    await clock.settle();

    expect(log.slice(0, 7).toSorted()).toEqual([
      'controller',
      'deep',
      'deepest',
      'global',
      'module class',
      'outermost',
      'root',
    ]);
    expect(log.slice(7)).toEqual(['ran', 'ran']);
    await app.close();
  });

  it('claims nothing before the bootstrap hooks of a module that imports a second queue', async () => {
    const log: string[] = [];
    class Handler {
      @Delayed('work')
      one(): void {
        log.push('one');
      }
      @Delayed('work', { queue: 'billing' })
      two(): void {
        log.push('two');
      }
    }
    @Module({ imports: [queue({ name: 'billing' })] })
    class BillingModule implements OnModuleInit, OnApplicationBootstrap {
      constructor(
        @InjectDelayQueue() readonly standard: DelayQueueService,
        @InjectDelayQueue('billing') readonly billing: DelayQueueService,
      ) {}
      async onModuleInit(): Promise<void> {
        await this.standard.schedule('work', null, { delay: 0 });
        await this.billing.schedule('work', null, { delay: 0 });
      }
      async onApplicationBootstrap(): Promise<void> {
        await slow();
        log.push('bootstrapped');
      }
    }

    const app = await boot({ imports: [BillingModule], providers: [Handler] });
    await clock.settle();

    expect(log[0]).toBe('bootstrapped');
    expect(log.slice(1).toSorted()).toEqual(['one', 'two']);
    expect(app).toBeDefined();
  });

  it('fails as a whole when a bootstrap hook fails, and then runs nothing', async () => {
    class Handler implements OnModuleInit, OnApplicationBootstrap {
      constructor(@InjectDelayQueue() readonly delayQueue: DelayQueueService) {}
      async onModuleInit(): Promise<void> {
        await this.delayQueue.schedule('work', null, { delay: 0 });
      }
      onApplicationBootstrap(): never {
        throw new Error('no database');
      }
      @Delayed('work')
      work(payload: unknown): void {
        note('Handler', payload);
      }
    }

    const error = await bootErrorOf({ imports: [queue()], providers: [Handler] });
    await clock.advance(1_000);

    expect(error.message).toBe('no database');
    expect(calls).toEqual([]);
    expect(clock.pendingAlarms).toBe(0);
  });

  it('lets schedule be called from the first hook to the one before the last', async () => {
    const results: string[] = [];
    @Injectable()
    class Early implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
      readonly constructed: Promise<unknown>;
      constructor(readonly delayQueue: DelayQueueService) {
        this.constructed = this.try('constructor');
      }
      async try(when: string): Promise<void> {
        const { status } = await this.delayQueue.schedule('later', when, { delay: '1h' });
        results.push(`${when} ${status}`);
      }
      async onModuleInit(): Promise<void> {
        await this.constructed;
        await this.try('onModuleInit');
      }
      onApplicationBootstrap(): Promise<void> {
        return this.try('onApplicationBootstrap');
      }
      onModuleDestroy(): Promise<void> {
        return this.try('onModuleDestroy');
      }
      beforeApplicationShutdown(): Promise<void> {
        return this.try('beforeApplicationShutdown');
      }
    }
    @Module({ providers: [Early] })
    class EarlyModule {}

    const app = await startApp({ imports: [EarlyModule, queue()] });
    await app.close();

    expect(results).toEqual(
      [
        'constructor',
        'onModuleInit',
        'onApplicationBootstrap',
        'onModuleDestroy',
        'beforeApplicationShutdown',
      ].map((when) => `${when} scheduled`),
    );
  });

  it('waits for running handlers before any other module is destroyed', async () => {
    const log: string[] = [];
    const end = new Signal('the end of the handler');
    function noisy(name: string): Type<object> {
      @Injectable()
      class Noisy implements OnModuleDestroy {
        onModuleDestroy(): void {
          log.push(name);
        }
      }
      return Noisy;
    }
    @Injectable()
    class Database implements OnModuleDestroy {
      isOpen = true;
      onModuleDestroy(): void {
        this.isOpen = false;
        log.push('database');
      }
    }
    @Injectable()
    class Handler {
      constructor(readonly database: Database) {}
      @Delayed('work')
      async work(): Promise<void> {
        await end.next();
        log.push(`handler ended, database ${this.database.isOpen ? 'open' : 'closed'}`);
      }
    }
    @Module({ providers: [Database, Handler, noisy('deep')], exports: [Database] })
    class DeepModule {}
    @Global()
    @Module({ providers: [noisy('global')] })
    class GlobalModule {}

    const app = await startApp({
      imports: [DeepModule, queue(), GlobalModule],
      providers: [noisy('root')],
      controllers: [noisy('controller')],
    });
    await app.get(DelayQueueService).schedule('work', null, { delay: 0 });
    await clock.advance(1);
    const closed = app.close();
    await slow();
    const before = [...log];
    end.fire();
    await closed;

    expect(before).toEqual([]);
    expect(log[0]).toBe('handler ended, database open');
    expect(log.slice(1).toSorted()).toEqual(['controller', 'database', 'deep', 'global', 'root']);
  });

  it('starts nothing while it is only compiled: no claim, no timer', async () => {
    class Handler {
      @Delayed('work')
      work(payload: unknown): void {
        note('Handler', payload);
      }
    }
    const before = timers();

    // No clock of the test's own: this is about the machine's.
    const app = await compileApp({ imports: [DelayQueueModule.forRoot()], providers: [Handler] });
    await app.get(DelayQueueService).schedule('work', 1, { delay: 0 });
    await app.get(DelayQueueService).schedule('work', 1, { at: Date.now() + 1_000_000 });
    await slow();

    expect(calls).toEqual([]);
    expect(timers()).toEqual(before);
    await app.close();
  });

  it('leaves no timer of the machine behind when it is closed, whatever still waits', async () => {
    class Handler {
      @Delayed('work')
      work(payload: unknown): void {
        note('Handler', payload);
      }
    }
    const before = timers();
    const app = await startApp({ imports: [DelayQueueModule.forRoot()], providers: [Handler] });
    const delayQueue = app.get(DelayQueueService);

    await delayQueue.schedule('work', 1, { delay: 0 });
    await delayQueue.schedule('work', 2, { delay: '1h' });
    await delayQueue.schedule('work', 3, { at: Date.now() + 60_000 });
    await slow();
    const during = timers();
    await app.close();

    expect(calls).toEqual(['Handler(1)']);
    expect(during.length).toBeGreaterThan(before.length);
    expect(timers()).toEqual(before);
  });

  it('can be closed twice, and before it was started', async () => {
    const never = await compileApp({ imports: [queue()] });
    await never.close();
    const app = await startApp({ imports: [queue()] });

    await app.close();
    await app.close();

    await expect(app.get(DelayQueueService).schedule('work', 1, { delay: 0 })).rejects.toMatchObject({
      code: 'PROVIDER_CLOSED',
    });
  });

  it('is the same without HTTP: createApplicationContext starts and drains', async () => {
    @Injectable()
    class Handler {
      @Delayed('work')
      work(payload: unknown): void {
        note('Handler', payload);
      }
    }
    @Module({ imports: [queue()], providers: [Handler] })
    class AppModule {}

    const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
    await app.get(DelayQueueService).schedule('work', 1, { delay: 0 });
    await clock.advance(1);
    await app.close();

    expect(calls).toEqual(['Handler(1)']);
  });

  it('ends on HTTP after the requests that are still answered, which may schedule', async () => {
    const answer = new Signal('the answer');
    const arrived = new Signal('the request');
    @Controller()
    class Api {
      constructor(readonly delayQueue: DelayQueueService) {}
      @Get()
      async get(): Promise<string> {
        arrived.fire();
        await answer.next();
        return (await this.delayQueue.schedule('later', 1, { delay: '1h' })).status;
      }
    }
    @Module({ imports: [queue()], controllers: [Api] })
    class AppModule {}
    const app = await NestFactory.create(AppModule, { logger: false });
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();

    const response = fetch(url, { headers: { connection: 'close' } });
    await arrived.next();
    const closed = app.close();
    await slow();
    answer.fire();

    expect(await (await response).text()).toBe('scheduled');
    await closed;
  });
});

/** A program with one handler, and `ran`, which resolves when it has run. */
const program = (body: string): string => `
  import { Module } from '@nestjs/common';
  import { NestFactory } from '@nestjs/core';
  import { Delayed, DelayQueueModule, DelayQueueService } from './lib/index.js';

  let hasRun: () => void;
  const ran = new Promise<void>((resolve) => (hasRun = resolve));
  class Handler {
    @Delayed('work')
    work(payload: unknown) { console.log('ran', payload); hasRun(); }
  }
  @Module({ imports: [DelayQueueModule.forRoot()], providers: [Handler] })
  class AppModule {}
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const delayQueue = app.get(DelayQueueService);
  ${body}
`;

describe('a process with an application context', () => {
  let app: ChildApp;
  beforeAll(async () => {
    app = await ChildApp.create();
  });
  afterAll(() => app.dispose());

  it('exits by itself after close, with jobs that have run and jobs that wait (B235)', async () => {
    const exit = await app.run(
      program(`
        await delayQueue.schedule('work', 1, { delay: 20 });
        await delayQueue.schedule('work', 2, { delay: '40d' });
        await delayQueue.schedule('work', 3, { at: Date.now() + 86_400_000 });
        await delayQueue.schedule('nobody', 4, { delay: 0 });
        await ran;
        await app.close();
      `),
    );

    expect(exit).toMatchObject({ code: 0, stdout: 'ran 1\n', stderr: '' });
  });

  it('exits by itself without close, when all that waits is for other processes to handle', async () => {
    const exit = await app.run(
      program(`
        await delayQueue.schedule('nobody', 4, { delay: '1h' });
        await delayQueue.schedule('nobody', 4, { at: Date.now() + 1000 });
      `),
    );

    expect(exit).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });

  it('ends at once on SIGTERM while it is idle (B231)', async () => {
    const exit = await app.run(
      program(`
        app.enableShutdownHooks();
        await delayQueue.schedule('work', 1, { delay: '1h' });
        process.kill(process.pid, 'SIGTERM');
        setTimeout(() => console.log('still here'), 3_000);
      `),
    );

    // Nest ends the process with the very signal, which leaves no code.
    expect(exit).toMatchObject({ code: null, stdout: '', stderr: '' });
  });
});
