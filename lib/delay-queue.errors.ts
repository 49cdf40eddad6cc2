/**
 * Base of every error this module raises. `code` is stable across releases; `message` says what failed, with the
 * facts, and what to do; `cause` holds the error underneath, if any.
 */
export class DelayQueueError extends Error {
  constructor(
    readonly code: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A module, topic, decorator or call option is unknown, of the wrong shape, or contradicts another. Nothing was stored. */
export class InvalidOptionsError extends DelayQueueError {
  constructor(
    /** The option at fault, as a path such as `topics["order.expire"].concurrency`. */
    readonly option: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super('INVALID_OPTIONS', message, options);
  }
}

/** `delay` or `at` is missing, doubled, not a time, or out of range. Nothing was stored. */
export class InvalidDueTimeError extends DelayQueueError {
  constructor(message: string) {
    super('INVALID_DUE_TIME', message);
  }
}

/** A topic or id is not a string, is empty, too long, or holds characters that cannot be stored. Nothing was stored. */
export class InvalidNameError extends DelayQueueError {
  constructor(message: string) {
    super('INVALID_NAME', message);
  }
}

/** The payload or a header cannot be encoded so that the handler would get back what was given. Nothing was stored. */
export class PayloadNotSerializableError extends DelayQueueError {
  constructor(message: string, options?: ErrorOptions) {
    super('PAYLOAD_NOT_SERIALIZABLE', message, options);
  }
}

/** A stored payload could not be decoded; the job is dead-lettered with this error. */
export class PayloadNotReadableError extends DelayQueueError {
  constructor(message: string, options?: ErrorOptions) {
    super('PAYLOAD_NOT_READABLE', message, options);
  }
}

/** `ifExists: 'reject'` met a pending job with the same id, which was left as it was. */
export class JobExistsError extends DelayQueueError {
  constructor(
    readonly topic: string,
    readonly id: string,
    /** Due time of the job that is already there, epoch ms. */
    readonly dueAt: number,
  ) {
    super(
      'JOB_EXISTS',
      `A job "${id}" is already pending on topic "${topic}", due at ${new Date(dueAt).toISOString()}. ` +
        `Choose another id, or schedule with ifExists 'keep' or 'replace'.`,
    );
  }
}

/** The provider's bound on its backlog is reached; this job was not stored. */
export class QueueFullError extends DelayQueueError {
  constructor(
    readonly topic: string,
    /** The bound that was reached, in jobs. */
    readonly maxPending: number,
  ) {
    super(
      'QUEUE_FULL',
      `Cannot schedule a job on topic "${topic}": ${maxPending} jobs are waiting, which is provider.maxPending. ` +
        `Try again later, cancel jobs that are no longer wanted, or raise the bound.`,
    );
  }
}

/** Some jobs of one `scheduleMany()` call were refused by the store; the others are stored. */
export class PartialScheduleError<Result = unknown> extends DelayQueueError {
  constructor(
    /** One entry a request, in its order: what happened, or the error that refused it. */
    readonly results: readonly (Result | DelayQueueError)[],
    refused: number,
    first: DelayQueueError,
  ) {
    super(
      'PARTIAL_SCHEDULE',
      `${refused} of ${results.length} jobs were not scheduled; see \`results\`. The first: ${first.message}`,
      { cause: first },
    );
  }
}

/** Two methods ask for the same topic of the same queue. The application does not start. */
export class DuplicateHandlerError extends DelayQueueError {
  constructor(
    readonly topic: string,
    first: string,
    second: string,
  ) {
    super(
      'DUPLICATE_HANDLER',
      `Two handlers are registered for topic "${topic}": ${first} and ${second}. ` +
        `Rename one topic, or call both from one handler.`,
    );
  }
}

/** A `@Delayed` method cannot be called as a handler. The application does not start. */
export class InvalidHandlerError extends DelayQueueError {
  constructor(message: string) {
    super('INVALID_HANDLER', message);
  }
}

/** The store did not answer, or refused the operation for a reason of its own (see `cause`). */
export class StoreUnavailableError extends DelayQueueError {
  constructor(message: string, options?: ErrorOptions) {
    super('STORE_UNAVAILABLE', message, options);
  }
}

/** The provider is closed, or was never opened; nothing was done. */
export class ProviderClosedError extends DelayQueueError {
  constructor(operation: string) {
    super(
      'PROVIDER_CLOSED',
      `Cannot ${operation}: the provider is not open. Schedule after the module has started and before the application closes.`,
    );
  }
}

/** The handler ran longer than its `timeout`. Counts as a failed attempt; the handler's signal is aborted with it. */
export class JobTimeoutError extends DelayQueueError {
  constructor(
    readonly topic: string,
    readonly id: string,
    readonly timeoutMs: number,
  ) {
    super(
      'JOB_TIMEOUT',
      `Job "${id}" of topic "${topic}" ran longer than ${timeoutMs} ms. ` +
        `Raise its timeout, or make the handler stop when job.signal aborts.`,
    );
  }
}

/** Reason of an aborted `job.signal`: another claim owns the job now, or the store lost the lease. */
export class LeaseLostError extends DelayQueueError {
  constructor(
    readonly topic: string,
    readonly id: string,
    readonly token: number,
  ) {
    super(
      'LEASE_LOST',
      `The lease ${token} on job "${id}" of topic "${topic}" is lost; the outcome of this run is discarded. ` +
        `Raise the topic's lease if handlers block the event loop for long.`,
    );
  }
}

/** Reason of an aborted `job.signal`: someone cancelled the job with `abort: true`. */
export class JobCancelledError extends DelayQueueError {
  constructor(
    readonly topic: string,
    readonly id: string,
  ) {
    super('JOB_CANCELLED', `Job "${id}" of topic "${topic}" was cancelled while it ran.`);
  }
}

/** Reason of an aborted `job.signal`: the application is closing and the time to finish is over. */
export class ShutdownError extends DelayQueueError {
  constructor(graceMs: number) {
    super(
      'SHUTDOWN',
      `The application is closing and the handler did not end within shutdown.grace (${graceMs} ms).`,
    );
  }
}

/** Thrown by a handler: run this job again after `delayMs`, whatever the topic's backoff says. Attempts still count. */
export class RetryJobError extends DelayQueueError {
  /** Milliseconds until the next attempt. */
  readonly delayMs: number;

  constructor(options: { delayMs: number; message?: string; cause?: unknown }) {
    super('RETRY_JOB', options.message ?? `The handler asks for another attempt in ${options.delayMs} ms.`, {
      cause: options.cause,
    });
    this.delayMs = options.delayMs;
  }
}

/** Thrown by a handler: give this job up now and keep it as a dead letter, whatever attempts are left. */
export class DeadLetterJobError extends DelayQueueError {
  constructor(reason: string, options?: ErrorOptions) {
    super('DEAD_LETTER_JOB', reason, options);
  }
}
