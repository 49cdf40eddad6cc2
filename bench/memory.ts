import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { judge, machine, type Outcome, printTable } from './harness/report.js';
import { runScenario } from './harness/run-scenario.js';
import type { Scenario } from './harness/scenario.js';

const NAMES = ['schedule-rate', 'heap-per-job', 'due-heap', 'growth', 'lateness', 'drain'];

const { values: options } = parseArgs({
  options: {
    /** One short round of everything, to see that it runs; its figures mean little. */
    quick: { type: 'boolean', default: false },
    /** File to write the results to. */
    json: { type: 'string' },
    /** Only these scenarios. */
    only: { type: 'string', multiple: true, default: NAMES },
  },
});

const unknown = options.only.find((name) => !NAMES.includes(name));
if (unknown !== undefined) throw new Error(`--only ${unknown} is unknown. Known: ${NAMES.join(', ')}.`);

console.log(
  Object.entries(machine())
    .map(([name, value]) => `${name} ${value}`)
    .join(', '),
);
if (options.quick) console.log('Quick: fewer jobs, one round. Says that the benchmark runs, not how fast.');

const results: { title: string; rounds: number; outcomes: readonly Outcome[] }[] = [];
for (const name of options.only) {
  const module = `../memory/${name}.js`;
  const { scenario } = (await import(`./memory/${name}.js`)) as { scenario: Scenario };
  const rounds = options.quick ? 1 : scenario.rounds;
  const outcomes = scenario
    .figures(await runScenario(scenario, module, { rounds, quick: options.quick }))
    .map(judge);
  printTable(scenario.title, rounds, outcomes);
  results.push({ title: scenario.title, rounds, outcomes });
}

const judged = results.flatMap(({ outcomes }) => outcomes).filter(({ met }) => met !== undefined);
const missed = judged.filter(({ met }) => !met);
console.log(`\n${judged.length - missed.length} of ${judged.length} targets met.`);
for (const { name, median, unit, target } of missed) {
  console.log(`MISSED  ${name}: ${Number(median.toPrecision(3))} ${unit}, target ${target}`);
}

if (options.json !== undefined) {
  writeFileSync(
    options.json,
    JSON.stringify({ machine: machine(), quick: options.quick, results }, undefined, 2),
  );
}
