/** Every key of one topic, or of one part of it; all in one slot of a cluster. */
export interface TopicKeys {
  readonly due: string;
  readonly jobs: string;
  readonly leases: string;
  readonly meta: string;
  readonly detached: string;
  readonly dead: string;
  readonly letters: string;
  readonly settings: string;
  /** Of the hints, a Pub/Sub channel; in the same slot, for sharded Pub/Sub. */
  readonly hints: string;
}

/**
 * The keys of part `part` of `parts` of a topic: `{prefix:queue:topic}:due` and so on. What would end the hash tag, or
 * look like a separator, is escaped in queue and topic, so that no two topics share a key; ids are never part of one.
 */
export function topicKeys(prefix: string, queue: string, topic: string, part = 0, parts = 1): TopicKeys {
  const suffix = parts > 1 ? `#${part}` : '';
  const tag = `{${prefix}:${escape(queue)}:${escape(topic)}${suffix}}`;
  return {
    due: `${tag}:due`,
    jobs: `${tag}:jobs`,
    leases: `${tag}:leases`,
    meta: `${tag}:meta`,
    detached: `${tag}:detached`,
    dead: `${tag}:dead`,
    letters: `${tag}:letters`,
    settings: `${tag}:settings`,
    hints: `${tag}:hints`,
  };
}

/** The set of a queue's topics. No topic's key looks like it: theirs have a third part within the braces. */
export function topicsKey(prefix: string, queue: string): string {
  return `{${prefix}:${escape(queue)}}:topics`;
}

/** Characters that mean something in a key: the hash tag, its separators, and the escape itself. */
function escape(name: string): string {
  return name.replace(/[{}:#%]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
}

/** Which part of a topic an id belongs to: FNV-1a, so that any language finds the same one. */
export function partOf(id: string, parts: number): number {
  if (parts === 1) return 0;
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(id)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0) % parts;
}
