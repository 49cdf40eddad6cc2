/** Tells those who sleep when a claim could succeed earlier than they were told, and only then. */
export class WakeSignal {
  private readonly listeners = new Set<() => void>();
  /** The instant, on monotonic time, up to which everyone sleeps. */
  private sleepUntilMs = Infinity;

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  foretell(untilMs: number): void {
    this.sleepUntilMs = untilMs;
  }

  /** @param atMs when a claim could succeed now */
  wakeFor(atMs: number): void {
    if (atMs >= this.sleepUntilMs) return;
    this.sleepUntilMs = atMs;
    for (const listener of this.listeners) listener();
  }
}
