import { afterAll, beforeAll } from '@jest/globals';

/** Fails the spec file that leaves a socket, a server or a child process behind; jest itself would only hang. */
const KINDS = new Set(['TCPSocketWrap', 'TCPServerWrap', 'TLSWrap', 'ProcessWrap', 'FSEventWrap']);
const active = (): string[] => process.getActiveResourcesInfo().filter((kind) => KINDS.has(kind));
let before = 0;

beforeAll(() => {
  before = active().length;
});

afterAll(async () => {
  for (let i = 0; i < 20 && active().length > before; i++)
    await new Promise((resolve) => setTimeout(resolve, 25));
  if (active().length > before) throw new Error(`open handles left: ${active().join()}`);
});
