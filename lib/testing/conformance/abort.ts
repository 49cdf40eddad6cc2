import assert from 'node:assert/strict';
import { LEASE_MS } from './builders.js';
import { cancel, claim, claimOne, only, openSecond, renew, schedule, scheduleOne } from './calls.js';
import type { ConformanceCase } from './harness.js';
import { abortsOf } from './hint-signal.js';

/** How the instance that runs a job learns that it is to stop. */
export const abortCases: readonly ConformanceCase[] = [
  {
    name: 'tells on renewal to abort, only of the jobs for which that was asked',
    run: async (t) => {
      await schedule(t, { id: 'abort' }, { id: 'let-run' }, { id: 'untouched' });
      const { claims } = await claim(t);
      await cancel(t, 'abort', true);
      await cancel(t, 'let-run', false);

      for (const lease of claims) {
        assert.equal(await renew(t, lease), lease.id === 'abort' ? 'abort' : 'renewed', lease.id);
      }
    },
  },
  {
    name: 'tells to abort when a second cancel asks for it, on every renewal from then on',
    run: async (t) => {
      await scheduleOne(t);
      const lease = await claimOne(t, { leaseMs: 1_000 });
      assert.equal(await cancel(t, 'job-1', false), 'in-flight');
      assert.equal(await renew(t, lease, 1_000), 'renewed');

      assert.equal(await cancel(t, 'job-1', true), 'in-flight');
      assert.equal(await cancel(t, 'job-1', false), 'in-flight');

      for (let renewals = 0; renewals < 3; renewals++) {
        t.clock.jump(900);
        assert.equal(await renew(t, lease, 1_000), 'abort');
      }
    },
  },
  {
    name: 'hints at once with the lease of a job cancelled with abort, and at no other',
    run: async (t) => {
      await schedule(t, { id: 'abort' }, { id: 'let-run' });
      const { claims } = await claim(t);
      await schedule(t, { id: 'pending', delayMs: 10 });
      const aborts = abortsOf(t);

      await cancel(t, 'let-run', false);
      await cancel(t, 'pending', true);
      await cancel(t, 'never', true);
      await cancel(t, 'abort', true);

      await aborts.after(0, 'a cancel with abort');
      const { id, token } = only(claims.filter((lease) => lease.id === 'abort'));
      for (const hint of aborts.hints) assert.deepEqual({ id: hint.id, token: hint.token }, { id, token });
      aborts.stop();
    },
  },
  {
    name: 'gives no more hints to an abort listener that was taken away, and still gives them to the others',
    run: async (t) => {
      await scheduleOne(t);
      await claimOne(t);
      const [gone, stays] = [abortsOf(t), abortsOf(t)];
      gone.stop();

      await cancel(t, 'job-1', true);
      await stays.after(0, 'a cancel with abort');

      assert.equal(gone.count, 0);
      gone.stop();
      stays.stop();
    },
  },
  {
    name: 'keeps the abort hints of topics apart',
    run: async (t) => {
      await scheduleOne(t);
      await claimOne(t, { leaseMs: LEASE_MS });
      const [here, elsewhere] = [abortsOf(t), abortsOf(t, 'other')];

      await cancel(t, 'job-1', true);
      await here.after(0, 'a cancel with abort');

      assert.equal(elsewhere.count, 0);
      here.stop();
      elsewhere.stop();
    },
  },
  {
    // B171
    name: 'hints at the instance that runs the job when the cancel was asked for at another',
    needs: ['second-instance'],
    run: async (t) => {
      const second = await openSecond(t);
      await scheduleOne(t);
      const { id, token } = await claimOne(t);
      const aborts = abortsOf(t);

      assert.equal(await cancel(second, 'job-1', true), 'in-flight');

      await aborts.after(0, 'a cancel with abort at the other instance');
      assert.deepEqual([aborts.hints[0]?.id, aborts.hints[0]?.token], [id, token]);
      aborts.stop();
    },
  },
];
