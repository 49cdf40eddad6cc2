/** The few functions of a test runner the suite needs; jest (`injectGlobals`) and vitest (`globals: true`) offer them. */
export interface TestGlobals {
  readonly describe: (name: string, body: () => void) => void;
  readonly it: (name: string, body: () => Promise<void>, timeoutMs?: number) => void;
  readonly afterAll: (body: () => void) => void;
}

/** @throws Error when the runner does not put its functions on `globalThis` */
export function testGlobals(): TestGlobals {
  const found = globalThis as unknown as Partial<TestGlobals>;
  const missing = (['describe', 'it', 'afterAll'] as const).filter(
    (name) => typeof found[name] !== 'function',
  );
  if (missing.length > 0) {
    throw new Error(
      `The conformance suite found no global ${missing.join(', ')}. Call describeProvider() from a test file, ` +
        `with the runner's globals on (jest: injectGlobals, the default; vitest: globals: true).`,
    );
  }
  return found as TestGlobals;
}
