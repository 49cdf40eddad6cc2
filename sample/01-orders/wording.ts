const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
] as const;

/** `30m`, `90s`, `0.4s`: exact, unlike what rounds to the nearest unit. */
export function duration(durationMs: number): string {
  const [unitMs, unit] = UNITS.find(([unitMs]) => durationMs % unitMs === 0) ?? [1_000, 's'];
  return `${durationMs / unitMs}${unit}`;
}

/** `0.4 ms late` */
export function lateness(job: { readonly latenessMs: number }): string {
  return `${job.latenessMs.toFixed(1)} ms late`;
}

/** `€9.00` */
export function money(cents: number): string {
  return `€${(cents / 100).toFixed(2)}`;
}
