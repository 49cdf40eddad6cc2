import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A Lua script, as it is sent. */
export interface Script {
  readonly name: string;
  readonly source: string;
  readonly sha: string;
}

export const SCRIPT_NAMES = [
  'add',
  'cancel',
  'claim',
  'counts',
  'dead-list',
  'dead-remove',
  'find',
  'get',
  'pause',
  'renew',
  'reschedule',
  'settings',
  'settle',
  'topics',
] as const;

export type ScriptName = (typeof SCRIPT_NAMES)[number];

const loaded = new Map<ScriptName, Script>();

/** The script of that name; read from its file the first time. */
export function scriptOf(name: ScriptName): Script {
  let script = loaded.get(name);
  if (!script) {
    const folder = join(thisFolder(), 'strategies', 'sorted-set');
    const read = (file: string): string => readFileSync(join(folder, `${file}.lua`), 'utf8');
    // Comments cost nothing at run time, but would be sent, hashed and kept by every server.
    const source = withoutComments(`${read('shared')}\n${read(name)}`);
    script = { name, source, sha: createHash('sha1').update(source).digest('hex') };
    loaded.set(name, script);
  }
  return script;
}

function withoutComments(source: string): string {
  return source.replace(/^\s*--.*\n/gm, '').replace(/\n{2,}/g, '\n');
}

/**
 * The folder of this file. `import.meta` does not compile to CommonJS and `__dirname` does not exist in a module, but a
 * stack trace names the file in both.
 */
function thisFolder(): string {
  const prepare: unknown = Reflect.get(Error, 'prepareStackTrace');
  try {
    Error.prepareStackTrace = (_, sites) => sites;
    const [site] = new Error('where am I').stack as unknown as NodeJS.CallSite[];
    const file = site!.getFileName()!;
    return dirname(file.startsWith('file:') ? fileURLToPath(file) : file);
  } finally {
    Reflect.set(Error, 'prepareStackTrace', prepare);
  }
}
