/** Answers that change by themselves: a server that loads its data, a cluster that elects, a script that blocks. */
const PASSING = /^(LOADING|BUSY |TRYAGAIN|CLUSTERDOWN|MASTERDOWN|READONLY|UNKILLABLE|NOREPLICAS)/;

/** The operation had no answer; whether it was applied is not known. */
const LINK =
  /ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND|Connection is closed|max retries|Socket timeout|isn't writeable|Command timed out|ClusterAllFailed|Failed to refresh slots|None of startup nodes|Too many Cluster redirections/i;

/** Nothing was applied, and the same will work in a moment. */
export function isPassing(error: unknown): boolean {
  return PASSING.test(messageOf(error)) || /READONLY|NOT_READY|isn't writeable/.test(messageOf(error));
}

export function isLinkError(error: unknown): boolean {
  return LINK.test(messageOf(error)) || LINK.test((error as { code?: string } | null)?.code ?? '');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
