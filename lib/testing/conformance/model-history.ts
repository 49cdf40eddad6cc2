import type { JobExtras } from '../../job.js';
import type { DelayQueueProvider, IfExists, Settlement } from '../../providers/delay-queue.provider.js';
import type { ControllableClock } from './harness.js';
import type { HintSignal } from './hint-signal.js';

/** One step of a random history. `via` picks the instance where there are two. */
export type Action =
  | { readonly do: 'add'; readonly via: number; readonly jobs: readonly AddedJob[] }
  | { readonly do: 'claim'; readonly via: number; readonly limit: number; readonly leaseMs: number }
  | { readonly do: 'settle'; readonly via: number; readonly ends: readonly End[] }
  | { readonly do: 'renew'; readonly via: number; readonly leases: readonly number[] }
  | {
      readonly do: 'cancel';
      readonly via: number;
      readonly requests: readonly { id: string; abort: boolean }[];
    }
  | { readonly do: 'reschedule'; readonly via: number; readonly moves: readonly Move[] }
  | { readonly do: 'jump'; readonly ms: number }
  | { readonly do: 'pause'; readonly via: number; readonly paused: boolean }
  | { readonly do: 'inspect'; readonly via: number };

/** Due after `delayMs`; or at the instant that is `atInMs` from now, which may be past. */
export interface Move {
  readonly id: string;
  readonly delayMs: number;
  readonly atInMs: number | undefined;
}

export interface AddedJob extends Move {
  readonly ifExists: IfExists;
  readonly maxWaitMs: number | undefined;
  readonly extras: JobExtras | undefined;
}

export interface End {
  /** Which lease, counted from the latest. */
  readonly lease: number;
  readonly outcome: Settlement['outcome'];
  readonly delayMs: number;
  readonly extras: JobExtras | undefined;
}

/** One instance, and what its last claim foretold. */
export interface Instance {
  readonly provider: DelayQueueProvider;
  readonly wakes: HintSignal;
  /** Epoch ms; undefined before the first claim. */
  foretoldAt: number | undefined;
  /** How many wakes had come before it. */
  wakesBefore: number;
}

/** The side of the provider. */
export interface Real {
  readonly clock: ControllableClock;
  readonly instances: readonly Instance[];
  readonly fifo: boolean;
  /** Payloads given so far; each job's is the next number. */
  payloads: number;
}
