import { requireFinite } from './measure.js';

/** What one measurement found, by name. */
export type Sample = Readonly<Record<string, number>>;

/** One sample of each measurement of a scenario, taken right after one another, so that both saw the same machine. */
export type Round = ReadonlyMap<string, Sample>;

/** A number to print: the median over the rounds, beside what was promised. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  /** One a round. */
  readonly values: readonly number[];
  readonly target?: { readonly atLeast: number } | { readonly atMost: number };
}

/** One thing to measure, beside its peers. */
export interface Scenario {
  readonly title: string;
  /** Full rounds; a quick run makes do with one. */
  readonly rounds: number;
  /** Each call has a process to itself, because the heap and the compiled code of one would colour the next. */
  readonly measurements: Readonly<Record<string, (quick: boolean) => Promise<Sample>>>;
  readonly figures: (rounds: readonly Round[]) => readonly Figure[];
}

/**
 * One value of each round.
 * @throws Error if a round has no such value: a measurement that did not run must not look like one that did
 */
export function valuesOf(rounds: readonly Round[], measurement: string, name: string): readonly number[] {
  return rounds.map((round) => requireFinite(round.get(measurement)?.[name], `${measurement}.${name}`));
}

/** Quotients round by round: what slowed the machine during a round slowed both sides, and cancels out. */
export function ratiosOf(dividends: readonly number[], divisors: readonly number[]): readonly number[] {
  return dividends.map((dividend, round) => dividend / divisors[round]!);
}
