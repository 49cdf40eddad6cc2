import { createServer, type Server, type Socket, connect } from 'node:net';

/** A TCP link to a server of 127.0.0.1 that tests can cut, stall, or make lose answers. */
export class TcpProxy {
  private readonly links = new Set<{ readonly near: Socket; readonly far: Socket }>();
  private stalled = false;
  private refusing = false;
  private losing = false;

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async start(toPort: number): Promise<TcpProxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const proxy = new TcpProxy(server, (server.address() as { port: number }).port);
    server.on('connection', (near) => proxy.link(near, toPort));
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Drops every connection; new ones are refused until `restore`. */
  cut(): void {
    this.refusing = true;
    for (const { near, far } of this.links) {
      near.destroy();
      far.destroy();
    }
  }

  /** Connections stay open, but nothing comes through any more. */
  stall(): void {
    this.stalled = true;
    for (const { near, far } of this.links) {
      near.pause();
      far.pause();
    }
  }

  /** The next answer of the server is swallowed and the link it was on is cut: what was asked for was done. */
  loseNextAnswer(): void {
    this.losing = true;
  }

  /** Everything works again. */
  restore(): void {
    this.refusing = false;
    this.stalled = false;
    for (const { near, far } of this.links) {
      near.resume();
      far.resume();
    }
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private link(near: Socket, toPort: number): void {
    if (this.refusing) return void near.destroy();
    const far = connect(toPort, '127.0.0.1');
    const link = { near, far };
    this.links.add(link);
    const end = (): void => {
      this.links.delete(link);
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      socket.setNoDelay(true);
      socket.on('error', end);
      socket.on('close', end);
      if (this.stalled) socket.pause();
    }
    near.on('data', (bytes) => far.write(bytes));
    far.on('data', (bytes) => {
      if (this.losing) end();
      else near.write(bytes);
      this.losing = false;
    });
  }
}
