import type { LeaseRef } from '../delay-queue.provider.js';
import type { Connection } from './connection.js';

/** What a hint says: a new head, or that the run under a lease is to abort. */
export type Hint =
  | {
      readonly type: 'head';
      /** The instance that watches it; empty when everyone is to come. */
      readonly watcher: string;
      /** Until the head is due, ms; Infinity for no head. */
      readonly inMs: number;
    }
  | { readonly type: 'abort'; readonly lease: LeaseRef };

export interface HintListener {
  readonly onHint: (hint: Hint) => void;
  /** From here on hints come; those before may have been missed. `again`: the link was lost meanwhile. */
  readonly onSubscribed: (again: boolean) => void;
  readonly onClosed: () => void;
}

/**
 * The one subscriber connection of an instance, and who listens to which channel on it. On a cluster a channel lives on
 * the node of its topic (sharded Pub/Sub), so that hints do not load the others.
 */
export class HintChannel {
  private readonly listeners = new Map<string, HintListener>();

  constructor(private readonly connection: Connection) {
    const { subscriber } = connection;
    subscriber.on('message', this.onMessage);
    subscriber.on('smessage', this.onMessage);
    subscriber.on('ready', this.onReady);
  }

  /** The command that publishes on these channels. */
  get publish(): 'PUBLISH' | 'SPUBLISH' {
    return this.connection.isCluster ? 'SPUBLISH' : 'PUBLISH';
  }

  /** As it stands in the server, with what the user's client puts in front of it. */
  nameOf(channel: string): string {
    return this.connection.keyPrefix + channel;
  }

  listen(channel: string, listener: HintListener): void {
    const name = this.nameOf(channel);
    this.listeners.set(name, listener);
    const { subscriber, isCluster } = this.connection;
    // ioredis puts its keyPrefix in front of what lies in a slot, and of no other channel.
    const subscribed = isCluster ? subscriber.ssubscribe(channel) : subscriber.subscribe(name);
    subscribed.then(
      () => listener.onSubscribed(false),
      // The link is down: the client subscribes again when it is back, and `ready` tells.
      () => undefined,
    );
  }

  private readonly onMessage = (channel: string, text: string): void => {
    const listener = this.listeners.get(channel);
    const hint = listener && parseHint(text);
    if (hint) listener.onHint(hint);
  };

  /** Nobody waits for a subscription any more. */
  close(): void {
    for (const listener of this.listeners.values()) listener.onClosed();
  }

  private readonly onReady = (): void => {
    // After the client's own resubscriptions, which go out right behind this event.
    setImmediate(() => {
      for (const listener of this.listeners.values()) listener.onSubscribed(true);
    });
  };
}

/** @returns `undefined` for what another version may say */
export function parseHint(text: string): Hint | undefined {
  const [type, first, ...rest] = text.split(' ');
  if (type === 'head' && rest.length === 1) {
    const inMs = rest[0] === 'inf' ? Infinity : Number(rest[0]) / 1_000;
    return Number.isNaN(inMs) ? undefined : { type, watcher: first!, inMs };
  }
  if (type === 'abort' && rest.length > 0) {
    return { type, lease: { id: rest.join(' '), token: Number(first) } };
  }
  return undefined;
}
