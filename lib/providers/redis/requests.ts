import type { DueTime, NewJob, Settlement } from '../delay-queue.provider.js';

/** When a job is due, as `readDue` in shared.lua reads it. */
export function dueArg({ at, delayMs }: DueTime): string {
  return at === undefined ? `d${delayMs}` : `a${at}`;
}

/** Whether an id that exists is kept, replaced or refused; the due time; the bound on a debounce; whether extras follow. */
export function howArg(job: NewJob): string {
  const { ifExists, maxWaitMs, extras } = job;
  const how = (ifExists === 'replace' ? 'r' : ifExists === 'keep' ? 'k' : 'x') + dueArg(job);
  if (maxWaitMs === undefined && extras === undefined) return how;
  return how + (maxWaitMs === undefined ? '' : `,${maxWaitMs}`) + (extras === undefined ? '' : '+');
}

/** Ids, tokens, outcomes, and the extras of those that have any. */
export function settlementArgs(settlements: readonly Settlement[]): readonly (string | number)[] {
  const ids: (string | number)[] = [];
  const tokens: number[] = [];
  const outcomes: string[] = [];
  const extras: string[] = [];
  for (const settlement of settlements) {
    ids.push(settlement.id);
    tokens.push(settlement.token);
    outcomes.push(outcomeArg(settlement));
    if ('extras' in settlement && settlement.extras !== undefined)
      extras.push(JSON.stringify(settlement.extras));
  }
  return ids.concat(tokens, outcomes, extras);
}

function outcomeArg(settlement: Settlement): string {
  switch (settlement.outcome) {
    case 'complete':
      return 'c';
    case 'release':
      return 'l';
    case 'retry':
      return `r${settlement.delayMs}${settlement.extras === undefined ? '' : '+'}`;
    case 'dead-letter':
      return settlement.extras === undefined ? 'd' : 'd+';
    default:
      return settlement satisfies never;
  }
}
