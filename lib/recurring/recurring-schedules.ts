import type { Clock } from '../clock.js';
import { InvalidOptionsError } from '../delay-queue.errors.js';
import { assertId, assertTopic } from '../names.js';
import type { Claim, DelayQueueProvider, DueTime, NewJob } from '../providers/delay-queue.provider.js';
import type { PayloadCodec } from '../schedule/payload-codec.js';
import { nextOccurrence, readRecurrence, type Recurrence, type RecurrenceOptions } from './recurrence.js';

export interface RecurringOptions extends RecurrenceOptions {
  /** Handed to every occurrence. */
  readonly payload?: unknown;
}

export interface RecurringView extends Recurrence {
  readonly name: string;
  readonly payload: unknown;
}

/** What the settings keep of one recurring schedule, as JSON. */
interface Definition extends Recurrence {
  /** Encoded. */
  readonly payload: string;
}

/** Settings of recurring schedules begin with this; then where they come from: the code, or a call at run time. */
const SETTING = 'recurring:';
const HANDLER_KEY = 'handler';
const SERVICE_KEY = 'service:';

/**
 * Recurring schedules of one queue. Each is a definition in the settings of its topic and one pending job, the next
 * occurrence. Whoever claims an occurrence schedules the one after it before running it, under the same id: so there
 * is one over all instances, and a crash at any point leaves either the claim, which comes back, or its successor.
 */
export class RecurringSchedules {
  constructor(
    private readonly provider: DelayQueueProvider,
    private readonly codec: PayloadCodec,
    private readonly clock: Clock,
  ) {}

  /**
   * Begins a recurring schedule, or changes it; one that is the same already goes on undisturbed.
   * @param name unique on the topic
   * @throws InvalidOptionsError, InvalidNameError, PayloadNotSerializableError
   */
  async set(topic: string, name: string, options: RecurringOptions): Promise<void> {
    assertTopic(topic, 'set a recurring schedule');
    assertId(name, 'set a recurring schedule');
    const { payload, ...rest } = options ?? {};
    const recurrence = readRecurrence(rest, 'options');
    if (!recurrence) {
      throw new InvalidOptionsError('every', `Cannot set recurring schedule "${name}": give every or cron.`);
    }
    await this.write(topic, SERVICE_KEY + name, {
      ...recurrence,
      payload: this.codec.encode(topic, payload),
    });
  }

  /**
   * Ends a recurring schedule. An occurrence that runs goes on.
   * @returns whether there was one
   */
  async remove(topic: string, name: string): Promise<boolean> {
    assertTopic(topic, 'remove a recurring schedule');
    const settings = await this.provider.readSettings(topic);
    if (settings[SETTING + SERVICE_KEY + name] === undefined) return false;
    await this.erase(topic, SERVICE_KEY + name);
    return true;
  }

  /** Those set at run time; what `@Delayed` declares follows the code. */
  async list(topic: string): Promise<readonly RecurringView[]> {
    assertTopic(topic, 'list recurring schedules');
    const settings = await this.provider.readSettings(topic);
    const prefix = SETTING + SERVICE_KEY;
    return Object.entries(settings)
      .filter(([setting]) => setting.startsWith(prefix))
      .map(([setting, value]) => {
        const { payload, ...recurrence } = JSON.parse(value) as Definition;
        return {
          ...recurrence,
          name: setting.slice(prefix.length),
          payload: this.codec.decode(topic, '', payload),
        };
      });
  }

  /** Brings what is stored in line with what the handler of a topic declares now: new, changed, the same, or nothing. */
  async declare(topic: string, recurrence: Recurrence | undefined): Promise<void> {
    if (recurrence) {
      await this.write(topic, HANDLER_KEY, { ...recurrence, payload: this.codec.encode(topic, undefined) });
      return;
    }
    const settings = await this.provider.readSettings(topic);
    if (settings[SETTING + HANDLER_KEY] !== undefined) await this.erase(topic, HANDLER_KEY);
  }

  /**
   * To be called with every claimed occurrence before it runs.
   * @returns whether it is to run
   */
  async follow(topic: string, claim: Claim): Promise<boolean> {
    const key = claim.extras?.recurrence;
    if (key === undefined || claim.extras?.followed) return true;
    const settings = await this.provider.readSettings(topic);
    const definition = settings[SETTING + key];
    // Removed while this occurrence was on its way: it runs, and nothing follows.
    if (definition === undefined) return true;
    return this.advance(topic, key, JSON.parse(definition) as Definition, claim);
  }

  private async advance(topic: string, key: string, definition: Definition, claim: Claim): Promise<boolean> {
    const occurrence = claim.extras?.firstDueAt ?? claim.dueAt;
    const now = claim.dueAt + claim.lateMs;
    const after = definition.misfire === 'catch-up' ? occurrence : Math.max(occurrence, now);
    const next = nextOccurrence(definition, occurrence, after);
    if (next !== undefined) {
      await this.provider.add(topic, [occurrenceOf(key, definition, { delayMs: 0, at: next }, 'keep')]);
    }
    const isFirstAttempt = claim.attempt === 1;
    return !(definition.misfire === 'skip' && isFirstAttempt && claim.lateMs > definition.misfireGraceMs);
  }

  private async write(topic: string, key: string, definition: Definition): Promise<void> {
    const value = JSON.stringify(definition);
    const settings = await this.provider.readSettings(topic);
    const isSame = settings[SETTING + key] === value;
    if (!isSame) await this.provider.writeSetting(topic, SETTING + key, value);
    const first = this.firstOf(definition);
    // The same again: only heals a schedule whose pending occurrence was lost.
    if (first)
      await this.provider.add(topic, [occurrenceOf(key, definition, first, isSame ? 'keep' : 'replace')]);
  }

  private firstOf(definition: Definition): DueTime | undefined {
    if (definition.everyMs !== undefined) return { delayMs: definition.everyMs, at: undefined };
    const now = this.clock.wallNow();
    const at = nextOccurrence(definition, now, now);
    return at === undefined ? undefined : { delayMs: 0, at };
  }

  private async erase(topic: string, key: string): Promise<void> {
    await this.provider.writeSetting(topic, SETTING + key, undefined);
    await this.provider.cancel(topic, [{ id: idOf(key), abort: false }]);
  }
}

function occurrenceOf(
  key: string,
  { payload }: Definition,
  due: DueTime,
  ifExists: 'keep' | 'replace',
): NewJob {
  return { ...due, id: idOf(key), payload, ifExists, maxWaitMs: undefined, extras: { recurrence: key } };
}

function idOf(key: string): string {
  return `@${SETTING}${key}`;
}
