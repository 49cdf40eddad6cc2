import assert from 'node:assert/strict';
import type { FindQuery } from '../../providers/delay-queue.provider.js';
import { manyJobs, retry, richExtras, TOPIC } from './builders.js';
import { cancel, claim, claimOne, findAll, ids, renew, schedule, scheduleOne, settle } from './calls.js';
import { assertSameExtras } from './checks.js';
import type { ConformanceCase } from './harness.js';

export const inspectCases: readonly ConformanceCase[] = [
  {
    name: 'gets a pending job as it was scheduled, and undefined for an unknown id',
    run: async (t) => {
      const scheduledAt = t.clock.wallNow();
      await scheduleOne(t, { payload: '"p"', delayMs: 100, extras: richExtras() });
      t.clock.jump(500);

      const job = await t.provider.get(TOPIC, 'job-1');

      assert.ok(job);
      const { extras, ...fields } = job;
      assert.deepEqual(fields, {
        id: 'job-1',
        topic: TOPIC,
        payload: '"p"',
        state: 'pending',
        dueAt: scheduledAt + 100,
        scheduledAt,
        attempt: 0,
        leaseExpiresAt: undefined,
      });
      assertSameExtras(extras, richExtras(), 'of get');
      assert.equal(await t.provider.get(TOPIC, 'never'), undefined);
      assert.equal(await t.provider.get('never', 'job-1'), undefined);
    },
  },
  {
    name: 'gets a job in flight with its attempt, the due time it was claimed for and the end of its lease',
    run: async (t) => {
      await scheduleOne(t, { delayMs: 10 });
      t.clock.jump(15);
      const lease = await claimOne(t, { leaseMs: 1_000 });
      const claimedAt = t.clock.wallNow();

      const job = await t.provider.get(TOPIC, 'job-1');
      assert.deepEqual(
        [job?.state, job?.attempt, job?.dueAt, job?.leaseExpiresAt],
        ['in-flight', 1, lease.dueAt, claimedAt + 1_000],
      );

      t.clock.jump(500);
      await renew(t, lease, 2_000);
      assert.equal((await t.provider.get(TOPIC, 'job-1'))?.leaseExpiresAt, claimedAt + 2_500);
    },
  },
  {
    name: 'gets a retried job as pending with the attempts begun so far',
    run: async (t) => {
      await scheduleOne(t);
      await settle(t, retry(await claimOne(t), 100));

      const job = await t.provider.get(TOPIC, 'job-1');

      assert.deepEqual([job?.state, job?.attempt, job?.leaseExpiresAt], ['pending', 1, undefined]);
      assert.equal(job?.dueAt, t.clock.wallNow() + 100);
    },
  },
  {
    name: 'gets the pending job of an id before the one in flight, and that one once the other is gone',
    run: async (t) => {
      await scheduleOne(t, { payload: 'running' });
      await claimOne(t);
      await scheduleOne(t, { payload: 'waiting', delayMs: 10 });

      assert.equal((await t.provider.get(TOPIC, 'job-1'))?.payload, 'waiting');
      await cancel(t, 'job-1');
      assert.equal((await t.provider.get(TOPIC, 'job-1'))?.payload, 'running');
    },
  },
  {
    name: 'finds jobs by state, in due order',
    run: async (t) => {
      await schedule(t, ...manyJobs(4, (index) => ({ delayMs: 10 - index })));
      await schedule(t, ...manyJobs(4, (index) => ({ id: `later-${index}`, delayMs: 1_000 - index })));
      t.clock.jump(10);
      await claim(t);

      const found = async (state: FindQuery['state']) => ids(await findAll(t, { state, limit: 3 }));
      assert.deepEqual(await found('in-flight'), ['job-3', 'job-2', 'job-1', 'job-0']);
      assert.deepEqual(await found('pending'), ['later-3', 'later-2', 'later-1', 'later-0']);
      assert.ok((await findAll(t, { state: 'in-flight' })).every(({ state }) => state === 'in-flight'));
    },
  },
  {
    name: 'finds jobs of one due time in the order of scheduling, over pages',
    needs: ['fifo'],
    run: async (t) => {
      const jobs = manyJobs(50, (index) => ({ id: `${(index * 37) % 50}`, delayMs: 10 }));
      await schedule(t, ...jobs);

      assert.deepEqual(ids(await findAll(t, { limit: 7 })), ids(jobs));
    },
  },
  {
    name: 'finds jobs within a window, both ends included',
    run: async (t) => {
      const now = t.clock.wallNow();
      await schedule(t, ...manyJobs(6, (index) => ({ id: `${index}`, delayMs: index * 10 })));

      const found = async (window: Partial<FindQuery>) => ids(await findAll(t, { limit: 2, ...window }));
      assert.deepEqual(await found({ dueFrom: now + 10, dueTo: now + 30 }), ['1', '2', '3']);
      assert.deepEqual(await found({ dueFrom: now + 11, dueTo: now + 29 }), ['2']);
      assert.deepEqual(await found({ dueFrom: now + 40 }), ['4', '5']);
      assert.deepEqual(await found({ dueTo: now + 10 }), ['0', '1']);
      assert.deepEqual(await found({ dueTo: now - 1 }), []);
      assert.deepEqual(await found({ dueFrom: now + 30, dueTo: now + 20 }), []);
    },
  },
  {
    name: 'applies the window to the due time a job in flight was claimed for, not to its lease',
    run: async (t) => {
      const now = t.clock.wallNow();
      await schedule(t, { id: 'a', delayMs: 10 }, { id: 'b', delayMs: 20 });
      t.clock.jump(20);
      await claim(t);

      const found = await findAll(t, { state: 'in-flight', dueFrom: now + 11, dueTo: now + 20 });

      assert.deepEqual(ids(found), ['b']);
    },
  },
  {
    name: 'gives no more than the limit, and no cursor after the last page',
    run: async (t) => {
      await schedule(t, ...manyJobs(5, (index) => ({ delayMs: index })));

      const first = await t.provider.find(TOPIC, { state: 'pending', limit: 3 });
      assert.deepEqual(ids(first.items), ['job-0', 'job-1', 'job-2']);
      assert.ok(first.cursor !== undefined);
      const second = await t.provider.find(TOPIC, { state: 'pending', limit: 3, cursor: first.cursor });
      assert.deepEqual(ids(second.items), ['job-3', 'job-4']);
      assert.equal(second.cursor, undefined);
      assert.deepEqual(await findAll(t, { state: 'in-flight' }), []);
    },
  },
  {
    name: 'shows every untouched job once while others come, go and move between the pages',
    run: async (t) => {
      await schedule(t, ...manyJobs(60, (index) => ({ delayMs: 100 + Math.floor(index / 4) })));
      const seen: string[] = [];
      let cursor: string | undefined;
      for (let page = 0; page === 0 || cursor !== undefined; page++) {
        const found = await t.provider.find(TOPIC, { state: 'pending', limit: 7, cursor });
        seen.push(...ids(found.items));
        cursor = found.cursor;
        // By turns, since what comes and what goes would even out for a cursor that only counts.
        if (page % 2) {
          await schedule(
            t,
            { id: `before-${page}`, delayMs: 1 },
            { id: `among-${page}`, delayMs: 100 + page },
          );
        } else {
          await cancel(t, seen.at(-1) ?? '');
          await cancel(t, seen.at(-2) ?? '');
          await cancel(t, `job-${59 - page}`);
        }
        assert.ok(page < 100, 'the walk does not end');
      }

      const untouched = seen.filter((id) => id.startsWith('job-'));
      assert.equal(new Set(untouched).size, untouched.length, 'a job was shown twice');
      const left = ids(await findAll(t)).filter((id) => id.startsWith('job-'));
      assert.deepEqual(
        left.filter((id) => !untouched.includes(id)),
        [],
        'a job was skipped',
      );
    },
  },
];
