import type { DiscoveryService } from '@nestjs/core';
import { InvalidHandlerError } from '../delay-queue.errors.js';
import { type DelayedMetadata, readDelayed } from './delayed.decorator.js';

type InstanceWrapper = ReturnType<DiscoveryService['getProviders']>[number];
type Method = (...args: unknown[]) => unknown;

interface DecoratedMethod {
  readonly key: string | symbol;
  readonly metadata: DelayedMetadata;
}

/** A decorated method with the instance to call it on. */
export interface DiscoveredHandler extends DelayedMetadata {
  /** `OrdersController.expire` */
  readonly name: string;
  /** Class name of the module that provides it. */
  readonly module: string;
  readonly instance: object;
  readonly key: string | symbol;
}

/**
 * Finds every `@Delayed` method of the application. Nest's own look-ups index classes, not methods, miss symbol names
 * and inherited methods, or read properties and so run getters; this one lists the instances and looks at prototypes.
 */
export class HandlerExplorer {
  constructor(private readonly discovery: DiscoveryService) {}

  /** @throws InvalidHandlerError for a handler that has no single instance */
  explore(): readonly DiscoveredHandler[] {
    const found: DiscoveredHandler[] = [];
    const seen = new Set<object>();
    for (const wrapper of [...this.discovery.getControllers(), ...this.discovery.getProviders()]) {
      for (const handler of exploreWrapper(wrapper, seen)) found.push(handler);
    }
    return found;
  }
}

function* exploreWrapper(wrapper: InstanceWrapper, seen: Set<object>): Generator<DiscoveredHandler> {
  // An alias leads to an instance that is listed under its own token as well.
  if (wrapper.isAlias) return;
  const prototype = prototypeOf(wrapper);
  if (!prototype) return;
  const decorated = decoratedMethods(prototype);
  if (decorated.length === 0) return;

  assertSingleton(wrapper, decorated[0]!);
  const instance = wrapper.instance as object;
  // One instance can stand under several tokens.
  if (seen.has(instance)) return;
  seen.add(instance);
  for (const { key, metadata } of decorated) {
    const owner = prototype.constructor.name;
    yield {
      ...metadata,
      key,
      instance,
      name: `${owner}.${String(key)}`,
      module: wrapper.host?.name ?? 'unknown',
    };
  }
}

/** Where the methods are. A provider made by a factory or given as a value has no class but its instance's. */
function prototypeOf(wrapper: InstanceWrapper): object | undefined {
  const isMade = !wrapper.metatype || wrapper.inject;
  if (!isMade) return (wrapper.metatype as { prototype?: object }).prototype;
  const instance: unknown = wrapper.instance;
  if (typeof instance !== 'object' || instance === null) return undefined;
  try {
    return (Object.getPrototypeOf(instance) as object | null) ?? undefined;
  } catch {
    // A Proxy may refuse; then it hides whatever is behind it, from us as from everyone.
    return undefined;
  }
}

function decoratedMethods(prototype: object): readonly DecoratedMethod[] {
  try {
    return [...scan(prototype)];
  } catch (error) {
    if (error instanceof InvalidHandlerError) throw error;
    // A Proxy may refuse to be looked at; then it hides whatever is behind it, from us as from everyone.
    return [];
  }
}

/**
 * The decorated methods of a prototype and those it inherits. Looks at descriptors only, so no getter runs; a method
 * that overrides a decorated one without being decorated itself hides it, as everywhere in Nest.
 */
function* scan(prototype: object): Generator<DecoratedMethod> {
  const visited = new Set<string | symbol>();
  for (let level: object | null = prototype; level && level !== Object.prototype; level = parentOf(level)) {
    for (const key of Reflect.ownKeys(level)) {
      if (visited.has(key)) continue;
      visited.add(key);
      const isMethod = typeof Object.getOwnPropertyDescriptor(level, key)?.value === 'function';
      for (const metadata of readDelayed(level, key)) {
        if (!isMethod) throw noLongerMethod(level, key, metadata);
        yield { key, metadata };
      }
    }
  }
}

function noLongerMethod(
  level: object,
  key: string | symbol,
  { topic }: DelayedMetadata,
): InvalidHandlerError {
  return new InvalidHandlerError(
    `${level.constructor.name}.${String(key)} handles topic "${topic}", but another decorator has turned it into an accessor. ` +
      `Put that decorator on another method, and call this one from there.`,
  );
}

function parentOf(prototype: object): object | null {
  return Object.getPrototypeOf(prototype) as object | null;
}

function assertSingleton(wrapper: InstanceWrapper, first: DecoratedMethod): void {
  if (wrapper.isDependencyTreeStatic() && !wrapper.isTransient) return;
  throw new InvalidHandlerError(
    `${String(wrapper.name)}.${String(first.key)} handles topic "${first.metadata.topic}", but its class is ` +
      `request-scoped or transient, itself or through something it injects, so there is no instance to call. ` +
      `Move the handler to a class of default scope.`,
  );
}

/** Calls the method a handler was found on; looked up each time, so that spies and wrappers take part. */
export function methodOf({ instance, key }: DiscoveredHandler): Method {
  return (...args) => (instance as Record<string | symbol, Method>)[key]!(...args);
}
