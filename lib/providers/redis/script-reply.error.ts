import { DelayQueueError } from '../../delay-queue.errors.js';

/** A script answered something this version does not know: another version is at work on the same keys, or a proxy between. */
export class ScriptReplyError extends DelayQueueError {
  constructor(
    readonly script: string,
    readonly reply: unknown,
  ) {
    super(
      'SCRIPT_REPLY',
      `Script "${script}" answered ${JSON.stringify(reply)?.slice(0, 200)}, which this version does not understand. ` +
        `Are other versions of this package, or a Redis proxy, in use?`,
    );
  }
}
