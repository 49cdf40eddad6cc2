import type { LoggerService, ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';

/** Boot errors are the subject of tests here, not news. */
const SILENT: LoggerService = {
  log: () => undefined,
  error: () => undefined,
  warn: () => undefined,
};

/** A real Nest application as far as `compile`: every instance exists, no hook has run. */
export function compileApp(metadata: ModuleMetadata): Promise<TestingModule> {
  return Test.createTestingModule(metadata).setLogger(SILENT).compile();
}

/** A real Nest application, booted. To be closed by the test. */
export async function startApp(metadata: ModuleMetadata): Promise<TestingModule> {
  const app = await compileApp(metadata);
  return app.init();
}

/** What a boot fails with; fails itself, and closes the application, if it does not. */
export async function bootErrorOf(metadata: ModuleMetadata | (() => ModuleMetadata)): Promise<Error> {
  let app: TestingModule;
  try {
    app = await startApp(typeof metadata === 'function' ? metadata() : metadata);
  } catch (error) {
    return error as Error;
  }
  await app.close();
  throw new Error('The application booted.');
}
