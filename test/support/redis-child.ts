import { transform, transformFile, type Options } from '@swc/core';
import { type ChildProcess, spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';

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

/** A program on `lib` in a process of its own, which tests can kill at any moment. */
export class ChildInstance {
  readonly lines: string[] = [];

  private constructor(
    private readonly directory: string,
    private readonly child: ChildProcess,
  ) {}

  /** @param source TypeScript that imports from `./lib/…` and prints a line for what tests wait for */
  static async start(source: string): Promise<ChildInstance> {
    const directory = await mkdtemp(join(tmpdir(), 'delay-queue-child-'));
    await writeFile(join(directory, 'package.json'), '{"type":"module"}');
    await symlink(resolve('node_modules'), join(directory, 'node_modules'));
    await compile(resolve('lib'), join(directory, 'lib'));
    await writeFile(join(directory, 'app.js'), (await transform(source, SWC)).code);
    const child = spawn(process.execPath, [join(directory, 'app.js')], {
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

async function compile(from: string, to: string): Promise<void> {
  const entries = await readdir(from, { recursive: true, withFileTypes: true });
  await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => {
        const source = join(entry.parentPath, entry.name);
        const target = join(to, relative(from, source));
        await mkdir(dirname(target), { recursive: true });
        if (entry.name.endsWith('.lua')) return cp(source, target);
        if (!entry.name.endsWith('.ts')) return undefined;
        return writeFile(target.replace(/\.ts$/, '.js'), (await transformFile(source, SWC)).code);
      }),
  );
}
