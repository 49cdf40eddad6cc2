import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Round, Sample, Scenario } from './scenario.js';

const CHILD = fileURLToPath(new URL('./child.js', import.meta.url));
const LIMIT_MS = 180_000;

/**
 * Takes every measurement of a scenario, round by round.
 * @param module of the scenario, relative to this folder
 * @throws Error if a process failed, or did not end by itself
 */
export async function runScenario(
  scenario: Scenario,
  module: string,
  { rounds, quick }: { readonly rounds: number; readonly quick: boolean },
): Promise<readonly Round[]> {
  const names = Object.keys(scenario.measurements);
  const done: Round[] = [];
  for (let round = 0; round < rounds; round++) {
    const samples = new Map<string, Sample>();
    // Back and forth, so that none always runs on the machine the other has warmed.
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      samples.set(name, await runInChild(module, name, quick));
    }
    done.push(samples);
  }
  return done;
}

function runInChild(module: string, measurement: string, quick: boolean): Promise<Sample> {
  return new Promise((resolve, reject) => {
    const child = fork(CHILD, [module, measurement, quick ? 'quick' : 'full'], {
      execArgv: ['--expose-gc'],
      timeout: LIMIT_MS,
    });
    let sample: Sample | undefined;
    child.once('message', (message) => (sample = message as Sample));
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      if (sample && code === 0) resolve(sample);
      else
        reject(new Error(`Measurement ${measurement} of ${module} ended with ${signal ?? `code ${code}`}.`));
    });
  });
}
