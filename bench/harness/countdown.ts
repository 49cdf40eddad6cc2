/** Waits for a number of handler calls. */
export class Countdown {
  private left = 0;
  private done = (): void => {};

  /** @returns what resolves once `hit` was called `count` times more */
  expect(count: number): Promise<void> {
    this.left = count;
    return new Promise((resolve) => (this.done = resolve));
  }

  readonly hit = (): void => {
    if (--this.left === 0) this.done();
  };
}
