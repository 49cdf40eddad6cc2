import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { parseArgs } from 'node:util';
import { judge, machine, type Outcome, printTable } from '../harness/report.js';
import { runScenario } from '../harness/run-scenario.js';
import type { Scenario } from '../harness/scenario.js';

const NAMES = ['throughput', 'lateness', 'idle', 'growth'];

const { values: options } = parseArgs({
  options: {
    /** One short round of everything, to see that it runs; its figures mean little. */
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    /** File to write the results to. */
    json: { type: 'string' },
    /** Only these scenarios. */
    only: { type: 'string', multiple: true, default: NAMES },
  },
});
const unknown = options.only.find((name) => !NAMES.includes(name));
if (unknown !== undefined) throw new Error(`--only ${unknown} is unknown. Known: ${NAMES.join(', ')}.`);

/** A port nobody listens on. */
async function sparePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

const port = await sparePort();
const server = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', ''], {
  stdio: 'ignore',
});
// Every measurement runs in a process of its own, on this one server.
process.env['BENCH_REDIS_PORT'] = String(port);

try {
  await new Promise((resolve) => setTimeout(resolve, 500));
  console.log(
    Object.entries(machine())
      .map(([name, value]) => `${name} ${value}`)
      .join(', '),
  );
  const results: { title: string; rounds: number; outcomes: readonly Outcome[] }[] = [];
  for (const name of options.only) {
    const { scenario } = (await import(`./${name}.js`)) as { scenario: Scenario };
    const rounds = options.quick ? 1 : Number(options.rounds ?? scenario.rounds);
    const measured = await runScenario(scenario, `../redis/${name}.js`, { rounds, quick: options.quick });
    const outcomes = scenario.figures(measured).map(judge);
    printTable(scenario.title, rounds, outcomes);
    results.push({ title: scenario.title, rounds, outcomes });
  }
  if (options.json !== undefined) {
    writeFileSync(options.json, JSON.stringify({ machine: machine(), results }, undefined, 2));
  }
} finally {
  server.kill('SIGKILL');
}
