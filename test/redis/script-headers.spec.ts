import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { SCRIPT_NAMES, scriptOf } from '../../lib/providers/redis/scripts.js';

const FOLDER = new URL('../../lib/providers/redis/strategies/sorted-set/', import.meta.url);

/** The comment at the top, and what follows it. */
function partsOf(name: string): { readonly header: string; readonly body: string } {
  const source = readFileSync(new URL(`${name}.lua`, FOLDER), 'utf8');
  const header = /^(?:--.*\n)+/.exec(source)![0];
  return { header, body: source.slice(header.length).replace(/--.*/g, '') };
}

/** Numbers of one array that a text names: `KEYS[3]` is 3, `ARGV[4..]` is 4. */
function indexesOf(text: string, array: 'KEYS' | 'ARGV'): number[] {
  return [...text.matchAll(new RegExp(`${array}\\[(\\d+)`, 'g'))].map(([, index]) => Number(index));
}

describe('the scripts', () => {
  it('are those in the folder, beside what they share', () => {
    const files = readdirSync(FOLDER).map((file) => file.replace('.lua', ''));

    expect(files.toSorted()).toEqual([...SCRIPT_NAMES, 'shared'].toSorted());
  });

  it.each(SCRIPT_NAMES)('%s has a header that fits its body', (name) => {
    const { header, body } = partsOf(name);

    expect(header).toMatch(new RegExp(`^-- ${name}: .+\\n`));
    for (const part of ['CALLED BY SortedSet.', 'COST O(', 'ATOMIC yes', '-- RETURNS ', '-- WHY ']) {
      expect(header).toContain(part);
    }
    const keys = indexesOf(header, 'KEYS');
    expect(keys).toEqual(keys.map((_, index) => index + 1));
    // `reattach` and its like take KEYS as a whole.
    expect(Math.max(...indexesOf(body, 'KEYS'))).toBeLessThanOrEqual(keys.length);
    if (!/\(KEYS\b/.test(body)) expect(new Set(indexesOf(body, 'KEYS'))).toEqual(new Set(keys));
    const args = indexesOf(header, 'ARGV');
    expect(args.toSorted((a, b) => a - b)).toEqual([...new Set(args)].toSorted((a, b) => a - b));
    for (const index of indexesOf(body, 'ARGV')) expect(args).toContain(index);
  });

  it.each(SCRIPT_NAMES)('%s builds no key, and changes no contents through cjson', (name) => {
    const { source } = scriptOf(name);

    expect(source).not.toMatch(/cjson|cmsgpack/);
    // The first argument of every command is a declared key.
    for (const [call] of source.matchAll(/redis\.call\('(?!TIME)[A-Z]+', [^)]*/g)) {
      expect(call).toMatch(/, (KEYS\[\d\]|keys\[\d\]|(due|jobs|leases|meta|detached|dead|letters)\b)/);
    }
  });

  it('shares no KEYS and no ARGV', () => {
    expect(partsOf('shared').body).not.toMatch(/KEYS|ARGV/);
  });
});
