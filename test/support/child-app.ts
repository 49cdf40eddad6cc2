import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { createProgramFolder, writeProgram } from './program-folder.js';

export interface ChildExit {
  /** `null` when it had to be ended from outside: it did not exit by itself in time. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly tookMs: number;
}

/**
 * Programs that run in a process of their own, on `lib` as it is: whether a process exits by itself, and what Node
 * prints as a warning, show nowhere else.
 */
export class ChildApp {
  private constructor(private readonly directory: string) {}

  static async create(): Promise<ChildApp> {
    return new ChildApp(await createProgramFolder());
  }

  /** @param source TypeScript that imports from `./lib/…`; @param limitMs after which the process is killed */
  async run(source: string, limitMs = 30_000): Promise<ChildExit> {
    const file = await writeProgram(this.directory, source);
    const startedAt = performance.now();
    const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk) => (stdout += chunk));
    child.stderr.on('data', (chunk) => (stderr += chunk));
    const limit = setTimeout(() => child.kill('SIGKILL'), limitMs);
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
    clearTimeout(limit);
    return { code, stdout, stderr, tookMs: performance.now() - startedAt };
  }

  async dispose(): Promise<void> {
    await rm(this.directory, { recursive: true });
  }
}
