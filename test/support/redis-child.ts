import { type ChildProcess, spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { createProgramFolder, writeProgram } from './program-folder.js';

/** A program on `lib` in a process of its own, which tests can kill at any moment. */
export class ChildInstance {
  readonly lines: string[] = [];

  private constructor(
    private readonly directory: string,
    private readonly child: ChildProcess,
  ) {}

  /** @param source TypeScript that imports from `./lib/…` and prints a line for what tests wait for */
  static async start(source: string): Promise<ChildInstance> {
    const directory = await createProgramFolder();
    const child = spawn(process.execPath, [await writeProgram(directory, source)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const instance = new ChildInstance(directory, child);
    child.stdout.on('data', (chunk: Buffer) => instance.lines.push(...chunk.toString().trim().split('\n')));
    return instance;
  }

  async kill(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const exited = new Promise((done) => this.child.once('close', done));
      this.child.kill('SIGKILL');
      await exited;
    }
    await rm(this.directory, { recursive: true, force: true });
  }
}
