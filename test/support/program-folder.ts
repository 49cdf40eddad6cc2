import { type Options, transform, transformFile } from '@swc/core';
import { cp, mkdir, mkdtemp, readdir, symlink, writeFile } from 'node:fs/promises';
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

/** A temporary folder with `lib` as it is, compiled, for programs that run in a process of their own. */
export async function createProgramFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'delay-queue-'));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  await compile(resolve('lib'), join(folder, 'lib'));
  return folder;
}

/** @param source TypeScript that imports from `./lib/…` @returns the file to run */
export async function writeProgram(folder: string, source: string): Promise<string> {
  const file = join(folder, 'app.js');
  await writeFile(file, (await transform(source, SWC)).code);
  return file;
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
