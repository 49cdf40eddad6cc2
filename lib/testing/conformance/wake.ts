import assert from 'node:assert/strict';
import { aJob, complete, deadLetter, release, retry, TOPIC } from './builders.js';
import { cancel, claim, claimOne, reschedule, schedule, scheduleOne, settle } from './calls.js';
import type { ConformanceCase } from './harness.js';
import { assertWakes, wakesOf } from './hint-signal.js';

export const wakeCases: readonly ConformanceCase[] = [
  {
    name: 'wakes when a job is scheduled on an empty topic',
    run: async (t) => {
      await assertWakes(t, 'a first job', () => scheduleOne(t, { delayMs: 1_000 }));
    },
  },
  {
    name: 'wakes when a job due earlier than the head is scheduled',
    run: async (t) => {
      await scheduleOne(t, { id: 'far', delayMs: 60_000 });

      await assertWakes(t, 'an earlier job', () => scheduleOne(t, { id: 'near', delayMs: 59_999 }));
      await assertWakes(t, 'an earlier `at`', () =>
        scheduleOne(t, { id: 'at', at: t.clock.wallNow() + 500 }),
      );
      await assertWakes(t, 'a job due now', () => scheduleOne(t, { id: 'now' }));
    },
  },
  {
    name: 'wakes for the earliest job of a batch, wherever it stands',
    run: async (t) => {
      await scheduleOne(t, { id: 'head', delayMs: 1_000 });

      await assertWakes(t, 'a batch with an earlier job', () =>
        schedule(t, { id: 'a', delayMs: 5_000 }, { id: 'b', delayMs: 10 }, { id: 'c', delayMs: 5_000 }),
      );
    },
  },
  {
    name: 'wakes when a job comes due before the leases end that are in flight',
    run: async (t) => {
      await scheduleOne(t, { id: 'running' });
      await claimOne(t, { leaseMs: 30_000 });

      await assertWakes(t, 'a job due before the lease ends', () =>
        scheduleOne(t, { id: 'b', delayMs: 20_000 }),
      );
    },
  },
  {
    // tokio #8274, #6752: a queue asleep on a job that was moved or removed missed the next one
    name: 'wakes when a job is moved or replaced to an earlier due time',
    run: async (t) => {
      await scheduleOne(t, { delayMs: 60_000 });

      await assertWakes(t, 'a move to an earlier time', () => reschedule(t, 'job-1', { delayMs: 30_000 }));
      await assertWakes(t, 'a replacement due earlier', () =>
        scheduleOne(t, { delayMs: 10_000, ifExists: 'replace' }),
      );
      await assertWakes(t, 'a move into the past', () =>
        reschedule(t, 'job-1', { at: t.clock.wallNow() - 1 }),
      );
    },
  },
  {
    name: 'wakes for a new job after the last one was cancelled',
    run: async (t) => {
      await scheduleOne(t, { delayMs: 1_000 });
      await claim(t);
      await cancel(t, 'job-1');

      await assertWakes(t, 'a job after the last was cancelled', () => scheduleOne(t, { delayMs: 60_000 }));
    },
  },
  {
    name: 'wakes when a retried or released job is due before what was foretold',
    run: async (t) => {
      await schedule(t, { id: 'a' }, { id: 'b' });
      const [a, b] = (await claim(t)).claims;
      assert.ok(a && b);

      await assertWakes(t, 'a retry due before its lease ends', () => settle(t, retry(a, 10_000)));
      await assertWakes(t, 'a release', () => settle(t, release(b)));
    },
  },
  {
    name: 'wakes when a paused topic with due jobs is resumed',
    run: async (t) => {
      await scheduleOne(t);
      await t.provider.setPaused(TOPIC, true);

      await assertWakes(t, 'resuming', () => t.provider.setPaused(TOPIC, false));
    },
  },
  ...[complete, retry, deadLetter, release].map((end): ConformanceCase => ({
    name: `wakes when ${end({ id: '', token: 0 }).outcome} frees a slot of maxInFlight`,
    run: async (t) => {
      await schedule(t, { id: 'a' }, { id: 'b' }, { id: 'c' });
      const { claims } = await claim(t, { maxInFlight: 2 });
      const lease = claims[0];
      assert.ok(lease);

      const request = { maxInFlight: 2 };
      await assertWakes(t, 'a freed slot', () => settle(t, { ...end(lease) }), request);
      assert.equal((await claim(t, request)).claims.length, 1);
    },
  })),
  {
    name: 'wakes every listener of the topic',
    run: async (t) => {
      const [first, second] = [wakesOf(t), wakesOf(t)];
      await claim(t);

      await scheduleOne(t);

      await first.after(0, 'a first job, at the first listener');
      await second.after(0, 'a first job, at the second listener');
      first.stop();
      second.stop();
    },
  },
  {
    name: 'wakes again after the next claim',
    run: async (t) => {
      for (const delayMs of [60_000, 50_000, 40_000, 30_000]) {
        await assertWakes(t, `a job in ${delayMs} ms`, () => scheduleOne(t, { id: `${delayMs}`, delayMs }));
      }
    },
  },
  {
    name: 'does not call a listener that was taken away, and still calls the others',
    run: async (t) => {
      const [gone, stays] = [wakesOf(t), wakesOf(t)];
      await claim(t);
      gone.stop();

      await scheduleOne(t);
      await stays.after(0, 'a first job');

      assert.equal(gone.count, 0);
      gone.stop();
      stays.stop();
    },
  },
  {
    name: 'wakes the topic that has a new head while another topic is asleep',
    run: async (t) => {
      await t.provider.claim('other', { limit: 1, leaseMs: 1_000 });

      await assertWakes(t, 'a job on this topic', async () => {
        await t.provider.add('other', [aJob({ delayMs: 1 })]);
        await scheduleOne(t);
      });
    },
  },
];
