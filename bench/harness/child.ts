import type { Scenario } from './scenario.js';

// One measurement in a process of its own. By hand, to look at one with a profiler:
// node --expose-gc --cpu-prof dist/bench-run/bench/harness/child.js ../memory/drain.js queue
const [module, measurement, size] = process.argv.slice(2) as [string, string, string | undefined];

const { scenario } = (await import(module)) as { scenario: Scenario };
const sample = await scenario.measurements[measurement]!(size === 'quick');

if (process.send) process.send(sample, () => process.disconnect());
else console.log(sample);
