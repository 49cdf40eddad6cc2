import { transformFile, transform, type Options } from '@swc/core';
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';

const LIB = resolve('lib');

const SWC: Options = {
  swcrc: false,
  module: { type: 'es6' },
  jsc: {
    target: 'es2022',
    keepClassNames: true,
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
  },
};

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
    const directory = await mkdtemp(join(tmpdir(), 'delay-queue-'));
    await writeFile(join(directory, 'package.json'), '{"type":"module"}');
    await symlink(resolve('node_modules'), join(directory, 'node_modules'));
    await compileLib(join(directory, 'lib'));
    return new ChildApp(directory);
  }

  /** @param source TypeScript that imports from `./lib/…`; @param limitMs after which the process is killed */
  async run(source: string, limitMs = 30_000): Promise<ChildExit> {
    const file = join(this.directory, 'app.js');
    await writeFile(file, (await transform(source, SWC)).code);
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

async function compileLib(target: string): Promise<void> {
  const entries = await readdir(LIB, { recursive: true, withFileTypes: true });
  await Promise.all(
    entries
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map(async (entry) => {
        const source = join(entry.parentPath, entry.name);
        const compiled = join(target, relative(LIB, source)).replace(/\.ts$/, '.js');
        await mkdir(dirname(compiled), { recursive: true });
        await writeFile(compiled, (await transformFile(source, SWC)).code);
      }),
  );
}
