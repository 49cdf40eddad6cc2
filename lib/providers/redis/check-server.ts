import type { Connection } from './connection.js';

/**
 * Looks for settings of the server under which jobs can be lost.
 * @returns what an operator should know; `undefined` when all is well
 */
export async function checkServer(connection: Connection): Promise<string | undefined> {
  let info: string;
  try {
    info = String(await connection.command('read the settings of Redis', 'INFO', ['memory']));
  } catch {
    return (
      'The eviction policy of Redis could not be read: the user may not run INFO. ' +
      'Make sure that maxmemory-policy is noeviction; under another one Redis may delete jobs.'
    );
  }
  const policy = /maxmemory_policy:(\S+)/.exec(info)?.[1];
  // The keys of a queue never expire, so policies for those that do leave them alone.
  if (policy === undefined || policy === 'noeviction' || policy.startsWith('volatile-')) return undefined;
  return (
    `Redis evicts keys under memory pressure (maxmemory-policy ${policy}), and would delete whole topics. ` +
    'Set maxmemory-policy to noeviction: then scheduling is refused instead.'
  );
}
