import { cpus, totalmem } from 'node:os';
import { median } from './measure.js';
import type { Figure } from './scenario.js';

export interface Outcome {
  readonly name: string;
  readonly unit: string;
  readonly median: number;
  readonly least: number;
  readonly most: number;
  readonly values: readonly number[];
  /** As text, `>= 2`; absent where nothing was promised. */
  readonly target: string | undefined;
  readonly met: boolean | undefined;
}

export function judge({ name, unit, values, target }: Figure): Outcome {
  const middle = median(values);
  return {
    name,
    unit,
    median: middle,
    least: Math.min(...values),
    most: Math.max(...values),
    values,
    ...(target === undefined
      ? { target: undefined, met: undefined }
      : 'atLeast' in target
        ? { target: `>= ${format(target.atLeast)}`, met: middle >= target.atLeast }
        : { target: `<= ${format(target.atMost)}`, met: middle <= target.atMost }),
  };
}

export function machine(): Readonly<Record<string, string | number>> {
  const [first] = cpus();
  return {
    node: process.version,
    cpu: first?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
  };
}

const HEADINGS = ['', 'median', 'least .. most', 'target', ''];

export function printTable(title: string, rounds: number, outcomes: readonly Outcome[]): void {
  const rows = outcomes.map((outcome) => [
    outcome.name,
    `${format(outcome.median)} ${outcome.unit}`.trim(),
    `${format(outcome.least)} .. ${format(outcome.most)}`,
    outcome.target ?? '',
    outcome.met === undefined ? '' : outcome.met ? 'met' : 'MISSED',
  ]);
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => row[column]!.length)),
  );
  console.log(`\n${title} (${rounds} ${rounds === 1 ? 'round' : 'rounds'})`);
  for (const row of [HEADINGS, ...rows]) {
    const cells = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
    );
    console.log(`  ${cells.join('   ')}`.trimEnd());
  }
}

function format(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 3;
  // A thin space would be finer, but does not survive every terminal.
  return value.toFixed(value === 0 ? 0 : digits).replace(/\B(?<!\..*)(?=(\d{3})+(?!\d))/g, ' ');
}
