/** Something that happens once. Waiting for it ends after a limit of real time, and says what it waited for. */
export class Signal<Value = void> {
  private resolve!: (value: Value) => void;
  private readonly happened = new Promise<Value>((resolve) => (this.resolve = resolve));

  constructor(private readonly what: string) {}

  readonly fire = (value: Value): void => this.resolve(value);

  async next(limitMs = 10_000): Promise<Value> {
    let limit: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_resolve, reject) => {
      limit = setTimeout(() => reject(new Error(`Waited ${limitMs} ms for ${this.what}`)), limitMs);
    });
    try {
      return await Promise.race([this.happened, tooLate]);
    } finally {
      clearTimeout(limit);
    }
  }
}
