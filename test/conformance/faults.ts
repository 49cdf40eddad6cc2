import type { Claim, DelayQueueProvider, NewJob } from '../../lib/providers/delay-queue.provider.js';
import type { SkewedClock, Wrap } from './memory-harness.js';

/** A way in which real stores go wrong, and the cases that must notice. */
export interface Fault {
  readonly what: string;
  readonly breaks: readonly string[];
  readonly wrap: Wrap;
}

type Methods = Partial<DelayQueueProvider>;

/** The provider with some of its methods replaced. */
function replacing(provider: DelayQueueProvider, methods: Methods): DelayQueueProvider {
  return new Proxy(provider, {
    get(target, key) {
      const own = methods[key as keyof Methods];
      if (own) return own;
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const fault = (
  what: string,
  breaks: readonly string[],
  methods: (provider: DelayQueueProvider, clock: SkewedClock) => Methods,
): Fault => ({ what, breaks, wrap: (provider, clock) => replacing(provider, methods(provider, clock)) });

export const MODEL = 'answers any history of calls as a plain list of jobs would';

const skewedClaim =
  (skewMs: number) =>
  (provider: DelayQueueProvider, clock: SkewedClock): Methods => ({
    claim: (topic, request) => {
      // The memory provider reads its clock before the first await.
      clock.skewMs = skewMs;
      const result = provider.claim(topic, request);
      clock.skewMs = 0;
      return result;
    },
  });

const mapClaims =
  (map: (claims: readonly Claim[]) => readonly Claim[]) =>
  (provider: DelayQueueProvider): Methods => ({
    claim: async (topic, request) => {
      const result = await provider.claim(topic, request);
      return { ...result, claims: map(result.claims) };
    },
  });

const mapJobs =
  (map: (job: NewJob) => NewJob) =>
  (provider: DelayQueueProvider): Methods => ({ add: (topic, jobs) => provider.add(topic, jobs.map(map)) });

const reencoded = (payload: string): string => {
  try {
    return JSON.stringify(JSON.parse(payload));
  } catch {
    return payload;
  }
};

const timeFaults: readonly Fault[] = [
  fault(
    'claims a millisecond early',
    [
      'hands out nothing one millisecond before the due time, and the job at it',
      'waits out delays beyond 2^31 - 1 ms, and of ten years, to the millisecond',
      MODEL,
    ],
    skewedClaim(1),
  ),
  fault(
    'claims a millisecond late',
    ['hands out nothing one millisecond before the due time, and the job at it', MODEL],
    skewedClaim(-1),
  ),
  fault(
    'keeps delays in 32 bits',
    ['waits out delays beyond 2^31 - 1 ms, and of ten years, to the millisecond'],
    mapJobs((job) => (job.delayMs > 2 ** 31 - 1 ? { ...job, delayMs: 1 } : job)),
  ),
  fault(
    'counts `at` from now once and for all',
    ['has `at` jobs due by the new time when the wall clock is set forward, and no delay job'],
    (provider, clock) =>
      mapJobs(({ at, ...job }) =>
        at === undefined
          ? { at, ...job }
          : { ...job, at: undefined, delayMs: Math.max(0, at - clock.wallNow()) },
      )(provider),
  ),
  fault(
    'foretells a millisecond too much',
    ['leads a caller that sleeps as foretold to each job at its due time', MODEL],
    (provider) => ({
      claim: async (topic, request) => {
        const result = await provider.claim(topic, request);
        const { nextWakeInMs } = result;
        return { ...result, nextWakeInMs: nextWakeInMs > 0 ? nextWakeInMs + 1 : nextWakeInMs };
      },
    }),
  ),
  fault(
    'foretells 0 whatever comes',
    ['hands out nothing one millisecond before the due time, and the job at it', MODEL],
    (provider) => ({
      claim: async (topic, request) => ({ ...(await provider.claim(topic, request)), nextWakeInMs: 0 }),
    }),
  ),
];

const claimFaults: readonly Fault[] = [
  fault(
    'hands out the last first',
    ['hands out jobs in due order, whatever the order of scheduling', MODEL],
    mapClaims((claims) => claims.toReversed()),
  ),
  fault(
    'loses what it claims beyond two jobs',
    ['gives every due job to one of many concurrent claims', MODEL],
    mapClaims((claims) => claims.slice(0, 2)),
  ),
  fault(
    'says attempt 1 every time',
    ['hands a job out again when its lease expires, to the millisecond, as the next attempt', MODEL],
    mapClaims((claims) => claims.map((claim) => ({ ...claim, attempt: 1 }))),
  ),
  fault(
    'looks at the ten jobs scheduled first only',
    ['finds a due job behind thousands that are due in a year'],
    (provider) => {
      const scheduled: string[] = [];
      return {
        add: (topic, jobs) => {
          scheduled.push(...jobs.map(({ id }) => id));
          return provider.add(topic, jobs);
        },
        claim: async (topic, request) => {
          const result = await provider.claim(topic, request);
          const seen = scheduled.slice(0, 10);
          return { ...result, claims: result.claims.filter(({ id }) => seen.includes(id)) };
        },
      };
    },
  ),
  fault('hands out paused topics', ['hands out nothing on a paused topic, and foretells -1', MODEL], () => ({
    setPaused: async () => undefined,
  })),
  fault(
    'knows no maxInFlight',
    ['claims no more than maxInFlight leases at once, counting those of earlier claims'],
    (provider) => ({
      claim: (topic, { limit, leaseMs, rate }) =>
        provider.claim(topic, { limit, leaseMs, ...(rate ? { rate } : {}) }),
    }),
  ),
  fault(
    'counts the rate by whole windows',
    [
      'claims a burst at once, then one job for each token',
      'releases an overdue backlog smoothly: at no time faster than the rate, nor slower',
    ],
    (provider, clock) => {
      let window = -1;
      let left = 0;
      return {
        claim: async (topic, { rate, ...request }) => {
          if (!rate) return provider.claim(topic, request);
          const now = Math.floor(clock.now() / rate.perMs);
          if (now !== window) left = rate.limit;
          window = now;
          if (left === 0) return { claims: [], nextWakeInMs: (now + 1) * rate.perMs - clock.now() };
          const result = await provider.claim(topic, { ...request, limit: Math.min(request.limit, left) });
          left -= result.claims.length;
          return result;
        },
      };
    },
  ),
  fault('wakes nobody', ['wakes when a job is scheduled on an empty topic'], () => ({
    onWake: () => () => undefined,
  })),
];

const settleFaults: readonly Fault[] = [
  fault(
    'settles whatever the token',
    [
      'answers lease-lost to the old token after a takeover, and changes nothing',
      'answers lease-lost to the lease of an earlier job of the same id',
      MODEL,
    ],
    (provider) => {
      const latest = new Map<string, number>();
      return {
        claim: async (topic, request) => {
          const result = await provider.claim(topic, request);
          for (const { id, token } of result.claims) latest.set(id, token);
          return result;
        },
        settle: (topic, settlements) =>
          provider.settle(
            topic,
            settlements.map((s) => ({ ...s, token: latest.get(s.id) ?? s.token })),
          ),
      };
    },
  ),
  fault(
    'drops what is released',
    ['puts a released job back at its due time, the attempt not counted'],
    (provider) => ({
      settle: (topic, settlements) =>
        provider.settle(
          topic,
          settlements.map((s) => (s.outcome === 'release' ? { ...s, outcome: 'complete' } : s)),
        ),
    }),
  ),
  fault(
    'counts a release as an attempt',
    ['counts attempts over failures, lost leases and releases: all but the releases', MODEL],
    (provider) => ({
      settle: (topic, settlements) =>
        provider.settle(
          topic,
          settlements.map((s) =>
            s.outcome === 'release' ? { ...s, outcome: 'retry', delayMs: 0, extras: undefined } : s,
          ),
        ),
    }),
  ),
  fault(
    'forgets the extras of a retry',
    ['has a retried job due `delayMs` from the settling, with the new extras and the next attempt', MODEL],
    (provider) => ({
      settle: (topic, settlements) =>
        provider.settle(
          topic,
          settlements.map((s) => (s.outcome === 'retry' ? { ...s, extras: undefined } : s)),
        ),
    }),
  ),
  fault('renews in words only', ['moves the expiry to `leaseMs` from the renewal', MODEL], (provider) => ({
    renew: async (topic, leases) => {
      const held = await provider.find(topic, { state: 'in-flight', limit: 10_000 });
      return leases.map(({ id }) => (held.items.some((job) => job.id === id) ? 'renewed' : 'lease-lost'));
    },
  })),
  fault(
    'retries a job that was cancelled in flight',
    ['removes a job that was cancelled in flight when it ends with retry', MODEL],
    (provider) => ({
      cancel: async (topic, requests) => {
        const jobs = await Promise.all(requests.map(({ id }) => provider.get(topic, id)));
        const waiting = requests.filter((_, index) => jobs[index]?.state !== 'in-flight');
        const statuses = [...(await provider.cancel(topic, waiting))];
        return jobs.map((job) =>
          job?.state === 'in-flight' ? 'in-flight' : (statuses.shift() ?? 'unknown'),
        );
      },
    }),
  ),
  fault(
    'keeps a cancel for a job that comes later',
    ['answers unknown for an id nobody scheduled, and lets a later job of the id run', MODEL],
    (provider) => {
      const early = new Set<string>();
      return {
        cancel: async (topic, requests) => {
          const statuses = await provider.cancel(topic, requests);
          requests.forEach(({ id }, index) => statuses[index] === 'unknown' && early.add(id));
          return statuses;
        },
        add: async (topic, jobs) => {
          const results = await provider.add(topic, jobs);
          const doomed = jobs.filter(({ id }) => early.delete(id));
          await provider.cancel(
            topic,
            doomed.map(({ id }) => ({ id, abort: false })),
          );
          return results;
        },
      };
    },
  ),
];

const storeFaults: readonly Fault[] = [
  fault(
    'replaces where it should keep',
    ["leaves the pending job as it was with ifExists 'keep', and answers its due time", MODEL],
    mapJobs((job) => ({ ...job, ifExists: 'replace' })),
  ),
  fault(
    'answers a batch back to front',
    ['answers a batch in its own order, one answer a job', MODEL],
    (provider) => ({ add: async (topic, jobs) => (await provider.add(topic, jobs)).toReversed() }),
  ),
  fault(
    'decodes and encodes payloads',
    ['keeps payloads byte by byte through every stage'],
    mapJobs((job) => ({ ...job, payload: reencoded(job.payload) })),
  ),
  fault(
    'makes objects of empty arrays, as Lua does',
    ['keeps extras through every stage, empty arrays and objects included'],
    mapJobs((job) => ({
      ...job,
      extras: job.extras && JSON.parse(JSON.stringify(job.extras).replaceAll('[]', '{}')),
    })),
  ),
  fault(
    'takes ids of digits for numbers',
    ['keeps odd ids apart from scheduling to the end'],
    mapJobs((job) => ({ ...job, id: /^\d+$/.test(job.id) ? String(Number(job.id)) : job.id })),
  ),
  fault(
    'pages by counting',
    ['shows every untouched job once while others come, go and move between the pages'],
    (provider) => ({
      find: async (topic, { cursor = '0', limit, ...query }) => {
        const { items } = await provider.find(topic, { ...query, limit: 100_000 });
        const end = Number(cursor) + limit;
        return { items: items.slice(Number(cursor), end), cursor: end < items.length ? `${end}` : undefined };
      },
    }),
  ),
  fault('names dead letters by job', ['keeps two dead letters of one id apart'], (provider) => ({
    listDead: async (topic, query) => {
      const { items, cursor } = await provider.listDead(topic, query);
      return { items: items.map((record) => ({ ...record, deadLetterId: record.id })), cursor };
    },
  })),
  fault('answers after it was closed', ['rejects every call after close with ProviderClosedError'], () => ({
    close: async () => undefined,
  })),
];

export const faults: readonly Fault[] = [...timeFaults, ...claimFaults, ...settleFaults, ...storeFaults];
