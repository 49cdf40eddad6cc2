import { BadRequestException } from '@nestjs/common';
import type { Item } from './order.js';

/** The body of `POST /orders`. */
export interface CreateOrder {
  /** 1 to 50. */
  readonly items: readonly Item[];
  /** What the customer saw; must be what the items add up to. */
  readonly totalCents: number;
}

const MAX_ITEMS = 50;
const MAX_QUANTITY = 1_000;
const MAX_PRICE_CENTS = 10_000_000;

/**
 * By hand, so that the sample needs no validation library.
 * @throws BadRequestException listing everything that is wrong
 */
export function readCreateOrder(body: unknown): CreateOrder {
  if (!isObject(body))
    throw new BadRequestException(['the body must be a JSON object with items and totalCents']);
  const { items, totalCents } = body;
  const problems = Array.isArray(items) ? items.flatMap(problemsOfItem) : [];
  if (!Array.isArray(items) || items.length < 1 || items.length > MAX_ITEMS) {
    problems.push(`items must be a list of 1 to ${MAX_ITEMS}`);
  }
  if (!isWhole(totalCents, 1, Number.MAX_SAFE_INTEGER)) {
    problems.push('totalCents must be a whole number from 1');
  }
  if (problems.length > 0) throw new BadRequestException(problems);

  const order = { items: (items as Item[]).map(onlyItem), totalCents: totalCents as number };
  const sumCents = order.items.reduce((sum, { quantity, priceCents }) => sum + quantity * priceCents, 0);
  if (sumCents !== order.totalCents) {
    throw new BadRequestException([`totalCents is ${order.totalCents}, but the items add up to ${sumCents}`]);
  }
  return order;
}

function problemsOfItem(item: unknown, index: number): string[] {
  const where = `items[${index}]`;
  if (!isObject(item)) return [`${where} must be an object with name, quantity and priceCents`];
  const problems: string[] = [];
  const { name, quantity, priceCents } = item;
  if (typeof name !== 'string' || name.trim() === '' || name.length > 100) {
    problems.push(`${where}.name must be a text of 1 to 100 characters`);
  }
  if (!isWhole(quantity, 1, MAX_QUANTITY)) {
    problems.push(`${where}.quantity must be a whole number from 1 to ${MAX_QUANTITY}`);
  }
  if (!isWhole(priceCents, 0, MAX_PRICE_CENTS)) {
    problems.push(`${where}.priceCents must be a whole number from 0 to ${MAX_PRICE_CENTS}`);
  }
  return problems;
}

/** Leaves out whatever else the caller sent. */
function onlyItem({ name, quantity, priceCents }: Item): Item {
  return { name, quantity, priceCents };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isWhole(value: unknown, least: number, most: number): value is number {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}
