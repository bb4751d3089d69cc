import { MongoClient } from 'mongodb'
import { Wait } from 'testcontainers'
import { isListening } from '../../scripts/ports/port.ts'
import { stablePort } from '../../scripts/ports/stable-port.ts'
import { type ContainerNetwork, createContainerNetwork } from '../support/containers/container-network.ts'
import { ContainerUnderTest } from '../support/containers/container-under-test.ts'
import { LoopbackContainer } from '../support/containers/loopback-container.ts'
import { type MongoNodes, startMongoNodes } from '../support/containers/mongo-nodes.ts'
import { adminCommand } from '../support/mongod/mongod-under-test.ts'
import { until } from '../support/until.ts'

/** A sharded cluster in containers: a config server, one shard of three nodes, and a mongos in front of them. */
export interface ShardedCluster extends AsyncDisposable {
  /** Connection string of the mongos, for this machine. */
  readonly uri: string
  /** Adds a second shard, of one node. Resolves to its name in the cluster. */
  addSecondShard(): Promise<string>
  /** Stops the replication in the shard, whose primary stays primary, until the result is disposed of. */
  stopReplication(): Promise<AsyncDisposable>
}

// Longer than any test, so that the primary stays primary even if its secondaries are held up.
const ELECTION_TIMEOUT_MS = 600_000
const MOST_MEMBERS_STARTED_MS = 120_000

/** Starts a cluster from an image that has mongod and mongos. Disposing of it removes everything. */
export async function startShardedCluster(image: string): Promise<ShardedCluster> {
  await using resources = new AsyncDisposableStack()
  const network = resources.use(await createContainerNetwork())
  const config = await startMongoNodes(resources, { image, network, count: 1, role: 'config' })
  const shard = await startMongoNodes(resources, { image, network, count: 3, role: 'shard' })
  const port = await stablePort()
  resources.use(await startMongos(image, { network, configServers: config.address, port }))
  const uri = `mongodb://127.0.0.1:${port}/`
  await addShard(uri, shard)
  await keepPrimary(shard)
  const owned = resources.move()
  return {
    uri,
    async addSecondShard() {
      const second = await startMongoNodes(owned, { image, network, count: 1, role: 'secondShard' })
      await addShard(uri, second)
      return second.address.split('/', 1)[0] ?? ''
    },
    stopReplication: () => stopReplication(shard),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

interface MongosPlace {
  readonly network: ContainerNetwork
  /** The replica set of the config servers: `config/config1:…`. */
  readonly configServers: string
  readonly port: number
}

function startMongos(image: string, { network, configServers, port }: MongosPlace): Promise<ContainerUnderTest> {
  const name = 'mongos1'
  const container = new LoopbackContainer(image)
    .withLabels(network.labels)
    .withNetworkMode(network.name)
    .withNetworkAliases(name)
    .withCommand(['mongos', '--configdb', configServers, '--port', String(port), '--bind_ip_all'])
    .withExposedPorts({ container: port, host: port })
    .withWaitStrategy(Wait.forLogMessage(/Waiting for connections/))
  return ContainerUnderTest.start({ name, container, isReady: () => isListening(`127.0.0.1:${port}`) })
}

async function addShard(uri: string, { address }: MongoNodes): Promise<void> {
  await using client = await new MongoClient(uri).connect()
  const admin = client.db('admin')
  await until(
    () =>
      admin.command({ addShard: address }).then(
        ({ ok }) => ok === 1,
        () => false,
      ),
    (added) => added,
    MOST_MEMBERS_STARTED_MS,
  )
  expectMongos(await admin.command({ hello: 1 }))
}

function expectMongos({ msg }: Record<string, unknown>): void {
  if (msg !== 'isdbgrid') throw new Error('What answers is no mongos')
}

/** Set only after the first election, which would wait for the timeout too. */
async function keepPrimary(shard: MongoNodes): Promise<void> {
  const { port } = await shard.primary()
  const { config } = (await adminCommand(port, { replSetGetConfig: 1 })) as { config: ReplicaSetConfig }
  const settings = { ...config.settings, electionTimeoutMillis: ELECTION_TIMEOUT_MS }
  await adminCommand(port, { replSetReconfig: { ...config, version: config.version + 1, settings } })
}

interface ReplicaSetConfig {
  readonly version: number
  readonly settings: object
}

async function stopReplication(shard: MongoNodes): Promise<AsyncDisposable> {
  const primary = await shard.primary()
  const secondaries = shard.nodes.filter((node) => node !== primary)
  const set = async (mode: 'alwaysOn' | 'off'): Promise<void> => {
    for (const { port } of secondaries) await adminCommand(port, { configureFailPoint: 'stopReplProducer', mode })
  }
  await set('alwaysOn')
  return { [Symbol.asyncDispose]: () => set('off') }
}
