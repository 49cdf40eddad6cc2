import assert from 'node:assert/strict';
import type {
  AddResult,
  CancelStatus,
  Claim,
  ClaimRequest,
  ClaimResult,
  DeadLetterRecord,
  DelayQueueProvider,
  FindQuery,
  LeaseRef,
  NewJob,
  Page,
  RenewStatus,
  RescheduleStatus,
  Settlement,
  SettleStatus,
  StoredJob,
} from '../../providers/delay-queue.provider.js';
import { aJob, LEASE_MS, TOPIC } from './builders.js';
import type { ProviderUnderTest } from './harness.js';

type Subject = Pick<ProviderUnderTest, 'provider'>;

/** No walk over pages in this suite is longer; a cursor that leads in a circle must not hang it. */
const MAX_PAGES = 20_000;

export async function schedule(
  t: Subject,
  ...jobs: readonly Partial<NewJob>[]
): Promise<readonly AddResult[]> {
  return t.provider.add(TOPIC, jobs.map(aJob));
}

export async function scheduleOne(t: Subject, job: Partial<NewJob> = {}): Promise<AddResult> {
  return only(await schedule(t, job));
}

export async function claim(t: Subject, request: Partial<ClaimRequest> = {}): Promise<ClaimResult> {
  return t.provider.claim(TOPIC, { limit: 100, leaseMs: LEASE_MS, ...request });
}

/** Claims everything that is due and expects exactly one job. */
export async function claimOne(t: Subject, request: Partial<ClaimRequest> = {}): Promise<Claim> {
  return only((await claim(t, request)).claims);
}

/** Ids of what a claim hands out, in its order. */
export async function claimIds(t: Subject, request: Partial<ClaimRequest> = {}): Promise<readonly string[]> {
  return ids((await claim(t, request)).claims);
}

/** Claims until nothing more is due. */
export async function claimAllDue(
  t: Subject,
  request: Partial<ClaimRequest> = {},
): Promise<readonly Claim[]> {
  const all: Claim[] = [];
  for (;;) {
    const { claims } = await claim(t, request);
    if (claims.length === 0) return all;
    all.push(...claims);
  }
}

export async function settle(t: Subject, settlement: Settlement): Promise<SettleStatus> {
  return only(await t.provider.settle(TOPIC, [settlement]));
}

export async function renew(t: Subject, lease: LeaseRef, leaseMs = LEASE_MS): Promise<RenewStatus> {
  return only(await t.provider.renew(TOPIC, [lease], leaseMs));
}

export async function cancel(t: Subject, id: string, abort = false): Promise<CancelStatus> {
  return only(await t.provider.cancel(TOPIC, [{ id, abort }]));
}

export async function reschedule(
  t: Subject,
  id: string,
  due: { readonly delayMs?: number; readonly at?: number },
): Promise<RescheduleStatus> {
  return only(await t.provider.reschedule(TOPIC, [{ id, delayMs: 0, at: undefined, ...due }]));
}

/** All jobs a query finds, page after page. */
export async function findAll(t: Subject, query: Partial<FindQuery> = {}): Promise<readonly StoredJob[]> {
  return allPages((cursor) => t.provider.find(TOPIC, { state: 'pending', limit: 50, ...query, cursor }));
}

/** All dead letters of the topic, page after page. */
export async function deadLetters(t: Subject, limit = 50): Promise<readonly DeadLetterRecord[]> {
  return allPages((cursor) => t.provider.listDead(TOPIC, { limit, cursor }));
}

export async function allPages<Item>(
  read: (cursor: string | undefined) => Promise<Page<Item>>,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await read(cursor);
    items.push(...page.items);
    if (page.cursor === undefined) return items;
    cursor = page.cursor;
  }
  throw new Error(`There is still a cursor after ${MAX_PAGES} pages; the last is ${cursor}.`);
}

/** Another instance on the same store; only for cases that need one. */
export async function openSecond(t: ProviderUnderTest): Promise<{ readonly provider: DelayQueueProvider }> {
  assert.ok(t.openSecond, 'the case lists no second-instance among its needs');
  return { provider: await t.openSecond() };
}

export function ids(items: readonly { readonly id: string }[]): readonly string[] {
  return items.map(({ id }) => id);
}

/** The one item of a list that must hold one. */
export function only<Item>(items: readonly Item[]): Item {
  assert.equal(items.length, 1, `expected one item, there are ${items.length}`);
  return items[0] as Item;
}
