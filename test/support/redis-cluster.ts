import { RedisServer, sparePort } from './redis-server.js';
import { until } from './redis-instances.js';

const SLOTS = 16_384;

/** A Redis Cluster of 3 masters and 3 replicas, formed here. */
export class RedisCluster {
  private constructor(
    readonly masters: readonly RedisServer[],
    readonly replicas: readonly RedisServer[],
  ) {}

  static async start(): Promise<RedisCluster> {
    const nodes = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const args =
          '--cluster-enabled yes --cluster-announce-ip 127.0.0.1 --cluster-node-timeout 1000 --appendonly yes ' +
          '--repl-diskless-sync-delay 0 --cluster-replica-validity-factor 0';
        return RedisServer.start(args.split(' '), await sparePort());
      }),
    );
    const cluster = new RedisCluster(nodes.slice(0, 3), nodes.slice(3));
    await cluster.form();
    return cluster;
  }

  get nodes(): readonly { readonly host: string; readonly port: number }[] {
    return [...this.masters, ...this.replicas].map(({ port }) => ({ host: '127.0.0.1', port }));
  }

  /** The master that the slot of a key lies on. */
  async masterOf(key: string): Promise<RedisServer> {
    const slot = Number(await this.masters[0]!.command('CLUSTER', 'KEYSLOT', key));
    return this.masters[Math.min(2, Math.floor(slot / Math.ceil(SLOTS / 3)))]!;
  }

  /** Moves the slot of a key from its master to another, key by key, as an operator does. */
  async migrate(key: string, pauseMs: number): Promise<void> {
    const source = await this.masterOf(key);
    const target = this.masters.find((master) => master !== source)!;
    const slot = Number(await source.command('CLUSTER', 'KEYSLOT', key));
    const [from, to] = await Promise.all([idOf(source), idOf(target)]);
    await target.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from);
    await source.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to);
    for (;;) {
      const keys = (await source.command('CLUSTER', 'GETKEYSINSLOT', slot, 1)) as string[];
      if (keys.length === 0) break;
      await source.command('MIGRATE', '127.0.0.1', target.port, keys[0]!, 0, 5_000);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    for (const master of [target, source, ...this.masters]) {
      await master.command('CLUSTER', 'SETSLOT', slot, 'NODE', to);
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.masters, ...this.replicas].map((node) => node.stop()));
  }

  private async form(): Promise<void> {
    const [first, ...others] = [...this.masters, ...this.replicas];
    const share = Math.ceil(SLOTS / 3);
    await Promise.all(
      this.masters.map((master, index) =>
        master.command('CLUSTER', 'ADDSLOTSRANGE', index * share, Math.min(SLOTS, (index + 1) * share) - 1),
      ),
    );
    // Epochs of their own from the start, instead of after a round of conflicts.
    await Promise.all(
      [first!, ...others].map((node, index) => node.command('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)),
    );
    for (const node of others) await node.command('CLUSTER', 'MEET', '127.0.0.1', first!.port);
    for (const node of [first!, ...others]) {
      await until('all nodes know each other', async () =>
        String(await node.command('CLUSTER', 'INFO')).includes('cluster_known_nodes:6'),
      );
    }
    for (const [index, replica] of this.replicas.entries()) {
      const id = await idOf(this.masters[index]!);
      await until('the replica knows its master', () =>
        replica.command('CLUSTER', 'REPLICATE', id).then(
          () => true,
          () => false,
        ),
      );
    }
    for (const node of [first!, ...others]) {
      await until('the cluster is whole', async () =>
        String(await node.command('CLUSTER', 'INFO')).includes('cluster_state:ok'),
      );
    }
    for (const replica of this.replicas) {
      await until('the replica is in step', async () =>
        String(await replica.command('INFO', 'replication')).includes('master_link_status:up'),
      );
    }
  }
}

async function idOf(node: RedisServer): Promise<string> {
  return String(await node.command('CLUSTER', 'MYID'));
}
