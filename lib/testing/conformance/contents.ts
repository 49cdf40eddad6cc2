import assert from 'node:assert/strict';
import type { JobExtras } from '../../job.js';
import { deadLetter, LEASE_MS, release, retry, richExtras, TOPIC } from './builders.js';
import { claimOne, deadLetters, findAll, only, reschedule, scheduleOne, settle } from './calls.js';
import { assertSameExtras } from './checks.js';
import type { ConformanceCase, ProviderUnderTest } from './harness.js';

/** What a provider keeps without looking inside. */
interface Contents {
  readonly payload: string;
  readonly extras: JobExtras | undefined;
}

type Check = (stage: string, actual: Contents | undefined) => void;

/** B131, B133: whatever an encoder may produce, and text that only looks like JSON. */
const PAYLOADS: readonly string[] = [
  ['', ' ', '[]', '{}', '[[]]', '{"a":[],"b":{}}', '[null]', 'null', 'false', '0', '""', '1e400', '{'],
  ['"ß 🚀 任务 \\ud83d"', '\u0000\u0001\u001f\u007f', '\u2028\r\n\t', '{"__proto__":{"polluted":true}}'],
  ['9007199254740993', '1.0', '%s', 'undefined', '"\\u00e9"'],
].flat();

const EXTRAS: readonly (JobExtras | undefined)[] = [
  undefined,
  {},
  { headers: {} },
  { headers: {}, backoff: { type: 'list', delaysMs: [], jitter: 0 } },
  { backoff: { type: 'list', delaysMs: [0, 1.5, 1e12], jitter: 1 }, maxAttempts: 1 },
  { timeoutMs: 0, expiresAfterMs: 0, onExpiry: 'drop', firstDueAt: 0 },
  { lastError: { name: '', message: 'ß'.repeat(1_000), stack: 'x'.repeat(4_000) } },
  { recurrence: 'nightly: 0 3 * * *' },
  richExtras(),
];

/** Takes one job through every stage a job can be in, with `second` as its extras from the retry on. */
async function throughEveryStage(
  t: ProviderUnderTest,
  id: string,
  first: Contents,
  second: Contents,
  check: Check,
) {
  const firstIs: Check = (stage, actual) => checkContents(stage, actual, first, check);
  const secondIs: Check = (stage, actual) => checkContents(stage, actual, second, check);

  await scheduleOne(t, { id, ...first, delayMs: 10 });
  firstIs('get, pending', await t.provider.get(TOPIC, id));
  firstIs('find, pending', only(await findAll(t)));
  await reschedule(t, id, { delayMs: 0 });
  const claimed = await claimOne(t);
  firstIs('claim', claimed);
  firstIs('get, in flight', await t.provider.get(TOPIC, id));
  firstIs('find, in flight', only(await findAll(t, { state: 'in-flight' })));
  await settle(t, release(claimed));
  const afterRelease = await claimOne(t);
  firstIs('claim after release', afterRelease);
  await settle(t, retry(afterRelease, 0, second.extras));
  secondIs('get after retry', await t.provider.get(TOPIC, id));
  secondIs('claim after retry', await claimOne(t));
  t.clock.jump(LEASE_MS);
  const takenOver = await claimOne(t);
  secondIs('takeover', takenOver);
  await settle(t, deadLetter(takenOver, first.extras));
  const dead = only(await deadLetters(t));
  firstIs('list of dead letters', dead);
  firstIs('dead letter', await t.provider.getDead(TOPIC, dead.deadLetterId));
  await t.provider.removeDead(TOPIC, [dead.deadLetterId]);
}

function checkContents(stage: string, actual: Contents | undefined, expected: Contents, check: Check): void {
  assert.ok(actual, `${stage}: nothing there`);
  // Compared before the message is made, which would print a megabyte.
  assert.ok(actual.payload === expected.payload, `${stage}: another payload than was scheduled`);
  assertSameExtras(actual.extras, expected.extras, stage);
  check(stage, actual);
}

const noFurtherCheck: Check = () => undefined;

export const contentsCases: readonly ConformanceCase[] = [
  {
    name: 'keeps payloads byte by byte through every stage',
    run: async (t) => {
      for (const [index, payload] of PAYLOADS.entries()) {
        const contents = { payload, extras: undefined };
        await throughEveryStage(t, `payload-${index}`, contents, contents, noFurtherCheck);
      }
      assert.equal(({} as { polluted?: boolean }).polluted, undefined);
    },
  },
  {
    // B147
    name: 'keeps a payload of a megabyte through every stage',
    run: async (t) => {
      const contents = { payload: 'ß🚀0'.repeat(131_072), extras: undefined };

      await throughEveryStage(t, 'large', contents, contents, noFurtherCheck);
    },
  },
  {
    name: 'keeps extras through every stage, empty arrays and objects included',
    run: async (t) => {
      for (const [index, extras] of EXTRAS.entries()) {
        const contents = { payload: '1', extras };
        await throughEveryStage(t, `extras-${index}`, contents, contents, noFurtherCheck);
      }
    },
  },
  {
    name: 'has the extras a retry or a dead letter was given in place of the ones before, or none',
    run: async (t) => {
      const rich = { payload: '[]', extras: richExtras() };
      const bare = { payload: '[]', extras: undefined };

      await throughEveryStage(t, 'rich-to-bare', rich, bare, noFurtherCheck);
      await throughEveryStage(t, 'bare-to-rich', bare, rich, noFurtherCheck);
    },
  },
  {
    name: 'keeps the time of scheduling through every stage',
    run: async (t) => {
      t.clock.jump(123);
      const scheduledAt = t.clock.wallNow();
      const contents = { payload: '1', extras: undefined };

      await throughEveryStage(t, 'times', contents, contents, (stage, actual) =>
        assert.equal((actual as { scheduledAt?: number }).scheduledAt, scheduledAt, stage),
      );
    },
  },
];
