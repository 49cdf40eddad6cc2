import type { Clock } from '../clock.js';
import { JobCancelledError, ShutdownError } from '../delay-queue.errors.js';
import type { HandlerRegistration } from '../handlers/handler-registry.js';
import type { DelayQueueEvents } from '../observe/events.js';
import type { Claim, DelayQueueProvider } from '../providers/delay-queue.provider.js';
import type { RecurringSchedules } from '../recurring/recurring-schedules.js';
import type { PayloadCodec } from '../schedule/payload-codec.js';
import { LeaseKeeper } from './lease-keeper.js';
import type { ProviderLink } from './provider-link.js';
import { Run } from './run.js';
import { RunReporter } from './run-reporter.js';
import { Runner, type RunOutcome, released } from './runner.js';
import { Settler } from './settler.js';
import type { Waker } from './waker.js';

/** What the dispatchers of all topics of a queue share. */
export interface DispatchContext {
  readonly provider: DelayQueueProvider;
  readonly clock: Clock;
  readonly codec: PayloadCodec;
  readonly events: DelayQueueEvents;
  readonly link: ProviderLink;
  readonly waker: Waker;
  readonly recurring: RecurringSchedules;
}

/**
 * Moves the jobs of one topic from the provider to their handler and back. It claims as many due jobs as it has free
 * slots, never more: a job that waited here would only use up its lease.
 */
export class TopicDispatcher {
  readonly topic: string;
  /** Runs that hold a lease, by token: the handler runs, or its outcome is not settled yet. */
  private readonly runs = new Map<number, Run>();
  private readonly runner: Runner;
  private readonly settler: Settler;
  private readonly keeper: LeaseKeeper;
  private readonly reporter: RunReporter;
  private handlersRunning = 0;
  private state: 'idle' | 'started' | 'stopping' = 'idle';
  private claiming: Promise<void> | undefined;
  /** Something happened during a claim that its answer may not show. */
  private claimAgain = false;
  private claimSoon: (() => void) | undefined;
  /** The last claim was as large as it was allowed to be: more may be due. */
  private moreDue = false;
  private unsubscribe: (() => void)[] = [];
  private readonly idleListeners: (() => void)[] = [];

  constructor(
    private readonly handler: HandlerRegistration,
    private readonly context: DispatchContext,
  ) {
    const { provider, clock, codec, link, recurring } = context;
    this.topic = handler.topic;
    this.reporter = new RunReporter(context.events);
    this.runner = new Runner(handler, codec, clock, recurring, link);
    this.settler = new Settler(this.topic, provider, clock, link);
    this.keeper = new LeaseKeeper(
      this.topic,
      handler.options.leaseMs,
      provider,
      clock,
      link,
      this.runs,
      (run) => this.reporter.leaseLost(run),
    );
  }

  start(): void {
    const { provider } = this.context;
    this.state = 'started';
    this.unsubscribe = [
      provider.onWake(this.topic, () => this.wake()),
      provider.onAbort(this.topic, ({ id, token }) =>
        this.runs.get(token)?.abort(new JobCancelledError(this.topic, id)),
      ),
    ];
    this.ring();
  }

  /**
   * Ends the sleep: claims as soon as there is a slot. In a turn of its own, because what wakes may be the handler of
   * this very topic: a job that schedules itself for now would keep the event loop from everything else.
   */
  wake(): void {
    this.moreDue = true;
    if (this.claiming) this.claimAgain = true;
    else this.claimInNextTurn();
  }

  /** The time to sleep is over; a timer's turn is one of its own already. */
  ring(): void {
    this.moreDue = true;
    if (this.claiming) this.claimAgain = true;
    else this.claimNow();
  }

  /** No claim begins after this. */
  stop(): void {
    this.state = 'stopping';
    for (const unsubscribe of this.unsubscribe.splice(0)) unsubscribe();
    this.context.waker.forget(this.topic);
    this.claimSoon?.();
    this.claimSoon = undefined;
  }

  /** Resolves once no handler runs and every outcome is settled. Call `stop` first. */
  async idle(): Promise<void> {
    await this.claiming;
    if (this.handlersRunning > 0) await new Promise<void>((resolve) => this.idleListeners.push(resolve));
    await this.settler.idle();
  }

  /** Tells the handlers that still run that their time is over. */
  abort(reason: ShutdownError): void {
    for (const run of this.runs.values()) run.abort(reason);
  }

  /** Lets go of everything. Jobs whose handlers still run keep their lease until it expires. */
  close(): void {
    this.keeper.stop();
    this.settler.abandon();
  }

  private claimNow(): void {
    const limit = this.freeSlots();
    // A job that ends asks again.
    if (this.state !== 'started' || this.claiming || limit < 1) return;
    this.claiming = this.claim(limit).finally(() => {
      this.claiming = undefined;
      if (!this.claimAgain) return;
      // The claim may have taken the last slot: then it is the end of a job that must claim.
      this.moreDue = true;
      this.claimInNextTurn();
    });
  }

  /** In a turn of its own: a topic that is never empty would otherwise keep the event loop from everything else. */
  private claimInNextTurn(): void {
    if (this.claimSoon || this.state !== 'started') return;
    const { clock } = this.context;
    this.claimSoon = clock.callAt(clock.now(), () => {
      this.claimSoon = undefined;
      this.claimNow();
    });
  }

  /** Unsettled outcomes take slots once there are many, so that a store which takes none stops the flow. */
  private freeSlots(): number {
    const { concurrency } = this.handler.options;
    return Math.min(
      concurrency - this.handlersRunning,
      2 * concurrency - this.handlersRunning - this.settler.unsettled,
    );
  }

  private async claim(limit: number): Promise<void> {
    const { provider, clock, link, waker } = this.context;
    const { leaseMs, maxInFlight, rate } = this.handler.options;
    this.claimAgain = false;
    try {
      await this.keeper.catchUp();
      const askedAtMs = clock.now();
      const { claims, nextWakeInMs } = await provider.claim(this.topic, {
        limit,
        leaseMs,
        maxInFlight,
        rate,
      });
      link.works('claim');
      this.moreDue = nextWakeInMs === 0;
      this.sleep(nextWakeInMs);
      for (const claim of claims) this.begin(claim, askedAtMs);
      if (this.moreDue) this.claimInNextTurn();
    } catch (error) {
      if (this.state !== 'started') return;
      waker.sleep(this.topic, link.failed('claim', error));
    }
  }

  private sleep(nextWakeInMs: number): void {
    const { provider, waker } = this.context;
    if (this.state !== 'started') return;
    const recheckMs = provider.features.recheckMs ?? Infinity;
    const sleepMs = Math.min(nextWakeInMs === -1 ? Infinity : nextWakeInMs, recheckMs);
    if (sleepMs === Infinity || nextWakeInMs === 0) waker.forget(this.topic);
    else waker.sleep(this.topic, sleepMs);
  }

  private begin(claim: Claim, askedAtMs: number): void {
    const run = new Run(this.topic, claim, this.runner.maxAttemptsOf(claim), askedAtMs);
    this.runs.set(claim.token, run);
    if (this.state === 'stopping') return this.settle(run, released(run));
    this.keeper.watch();
    this.reporter.claimed(run);
    this.handlersRunning++;
    void this.finish(run, claim.lateMs + this.context.clock.now() - askedAtMs);
  }

  private async finish(run: Run, lateMs: number): Promise<void> {
    const outcome = await this.runner.run(run, lateMs);
    this.handlersRunning--;
    if (run.leaseLost) this.runs.delete(run.token);
    else this.settle(run, wasInterrupted(run, outcome) ? released(run) : outcome);
    if (this.moreDue) this.claimInNextTurn();
    if (this.handlersRunning === 0) for (const listener of this.idleListeners.splice(0)) listener();
  }

  private settle(run: Run, outcome: RunOutcome): void {
    run.settling = true;
    this.settler.settle(outcome.settlement, (status) => {
      this.runs.delete(run.token);
      if (status === 'lease-lost') this.reporter.leaseLost(run);
      else this.reporter.ended(run, outcome);
      if (this.moreDue) this.claimInNextTurn();
    });
  }
}

/** A handler that the shutdown interrupted did not fail: the job is handed back, and the attempt is not counted. */
function wasInterrupted(run: Run, outcome: RunOutcome): boolean {
  const failed =
    outcome.type === 'retried' ||
    (outcome.type === 'dead-lettered' && outcome.reason === 'attempts-exhausted');
  return failed && run.aborted && run.signal.reason instanceof ShutdownError;
}
