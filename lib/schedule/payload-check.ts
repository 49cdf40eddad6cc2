import { types } from 'node:util';
import { describeValue } from '../describe-value.js';

/** @returns where in the value, and what it is that JSON cannot keep */
export function findProblem(value: unknown, search: ProblemSearch): string | undefined {
  try {
    return search.in(value);
  } catch (error) {
    if (!(error instanceof TooDeep)) throw error;
    return findCycle(value, []) ?? ` is nested deeper than ${MAX_DEPTH} levels`;
  }
}

/** Deeper than any payload; reached by one that refers back to itself. */
const MAX_DEPTH = 500;

/** Looks for what JSON would change in silence, or cannot take. */
export class ProblemSearch {
  /** Something on the way has a `toJSON`, so the text is not what the search has seen. */
  metToJson = false;

  /** @param deep false to look at one value and not at what it holds */
  constructor(private readonly deep = true) {}

  /** @returns where in the value, and what it is: `.items[2] is 1n` */
  in(value: unknown, depth = 0): string | undefined {
    switch (typeof value) {
      case 'string':
      case 'boolean':
      case 'undefined':
        return undefined;
      case 'number':
        return Number.isFinite(value) ? undefined : ` is ${value}`;
      case 'object':
        return value === null ? undefined : this.inObject(value, depth);
      default:
        return ` is ${describeValue(value)}`;
    }
  }

  private inObject(value: object, depth: number): string | undefined {
    if (depth > MAX_DEPTH) throw new TooDeep();
    if (Array.isArray(value)) return this.deep ? this.inArray(value, depth) : undefined;
    if (!isPlain(value)) {
      const lost = lostInJson(value);
      if (lost !== undefined) return lost;
      if (types.isDate(value)) return undefined;
    }
    if (typeof (value as { toJSON?: unknown }).toJSON === 'function') {
      this.metToJson = true;
      return undefined;
    }
    if (hasSymbols(value)) return ' has a property under a symbol';
    return this.deep ? this.inProperties(value, depth) : undefined;
  }

  private inProperties(value: object, depth: number): string | undefined {
    for (const key of Object.keys(value)) {
      const problem = this.in((value as Record<string, unknown>)[key], depth + 1);
      if (problem !== undefined) return pathStep(value, key) + problem;
    }
    return undefined;
  }

  private inArray(values: readonly unknown[], depth: number): string | undefined {
    for (let index = 0; index < values.length; index++) {
      const value = values[index];
      const problem = value === undefined ? ' is undefined' : this.in(value, depth + 1);
      if (problem !== undefined) return `[${index}]${problem}`;
    }
    return undefined;
  }
}

class TooDeep extends Error {}

/** @returns the way to the first value that holds itself */
function findCycle(value: unknown, parents: readonly object[]): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (parents.includes(value)) return ' refers back to itself';
  if (parents.length > MAX_DEPTH) return undefined;
  for (const [key, held] of Object.entries(value)) {
    const found = findCycle(held, [...parents, value]);
    if (found !== undefined) return pathStep(value, key) + found;
  }
  return undefined;
}

function pathStep(holder: object, key: string): string {
  if (Array.isArray(holder)) return `[${key}]`;
  return /^\w+$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** By what the engine knows of them, not by class: values of another realm count as well. */
function lostInJson(value: object): string | undefined {
  if (types.isDate(value)) return Number.isNaN(value.getTime()) ? ' is an invalid Date' : undefined;
  const isLost =
    types.isMap(value) ||
    types.isSet(value) ||
    types.isWeakMap(value) ||
    types.isWeakSet(value) ||
    types.isRegExp(value) ||
    types.isNativeError(value) ||
    types.isPromise(value) ||
    types.isAnyArrayBuffer(value) ||
    ArrayBuffer.isView(value);
  return isLost ? ` is a ${value.constructor.name}, which JSON turns into something else` : undefined;
}

/** Those that are not enumerable are how libraries attach what is theirs. */
function hasSymbols(value: object): boolean {
  const symbols = Object.getOwnPropertySymbols(value);
  return symbols.some((symbol) => Object.prototype.propertyIsEnumerable.call(value, symbol));
}
