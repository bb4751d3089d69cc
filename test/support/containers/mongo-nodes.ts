import type { LookupFunction } from 'node:net'
import { MongoClient } from 'mongodb'
import { Wait } from 'testcontainers'
import { REPLICA_SET, SMALL_SERVER } from '../../../scripts/mongod/mongod-arguments.ts'
import { isListening } from '../../../scripts/ports/port.ts'
import { stablePort } from '../../../scripts/ports/stable-port.ts'
import { adminCommand, HURRY, untilPrimary } from '../mongod/mongod-under-test.ts'
import { startTogether } from '../start-together.ts'
import type { ContainerNetwork } from './container-network.ts'
import { ContainerUnderTest } from './container-under-test.ts'
import { LoopbackContainer } from './loopback-container.ts'

/** A node of a replica set in a container: it has the same port inside and, on loopback, outside. */
interface MongoNode {
  /** Its name in the network of the test. */
  readonly name: string
  readonly port: number
  readonly alive: boolean
  readonly container: ContainerUnderTest
}

/** A replica set in containers. */
export interface MongoNodes {
  readonly nodes: readonly MongoNode[]
  /** Connection string for containers of the same network. */
  readonly uri: string
  /** A client of this machine. It uses the members' own names, so it follows the set through elections. */
  connect(): Promise<MongoClient>
  /** The node that is primary now; waits for the end of an election. */
  primary(): Promise<MongoNode>
}

/** What a set is made from. */
export interface MongoNodesOptions {
  readonly image: string
  readonly network: ContainerNetwork
  readonly count: 1 | 3
}

/** Starts a replica set; it has a primary when this resolves. The nodes belong to `resources`. */
export async function startMongoNodes(
  resources: AsyncDisposableStack,
  { image, network, count }: MongoNodesOptions,
): Promise<MongoNodes> {
  const places: { name: string; port: number }[] = []
  while (places.length < count) places.push({ name: `mongo${places.length + 1}`, port: await stablePort() })
  const starts = places.map((place) => startNode(place, { image, network }))
  const containers = await startTogether(resources, starts)
  const nodes = containers.map((container, index) => nodeOf(container, places[index]?.port ?? 0))
  const members = places.map(({ name, port }, _id) => ({ _id, host: `${name}:${port}` }))
  const config = { _id: REPLICA_SET, members, settings: { electionTimeoutMillis: 2_000 } }
  await adminCommand(places[0]?.port ?? 0, { replSetInitiate: config })
  await untilPrimary(nodes)
  const uri = `mongodb://${members.map(({ host }) => host).join(',')}/?replicaSet=${REPLICA_SET}`
  return {
    nodes,
    uri,
    primary: () => untilPrimary(nodes),
    // The names are known only in the network. From here, every node is on loopback, on its own port.
    connect: () => new MongoClient(uri, { lookup: toLoopback, connectTimeoutMS: 2_000 }).connect(),
  }
}

const toLoopback: LookupFunction = (_host, { all }, done) => {
  if (all) done(null, [{ address: '127.0.0.1', family: 4 }])
  else done(null, '127.0.0.1', 4)
}

function nodeOf(container: ContainerUnderTest, port: number): MongoNode {
  return {
    name: container.name,
    port,
    container,
    get alive() {
      return container.alive
    },
  }
}

function startNode(
  { name, port }: { readonly name: string; readonly port: number },
  { image, network }: Pick<MongoNodesOptions, 'image' | 'network'>,
): Promise<ContainerUnderTest> {
  const container = new LoopbackContainer(image)
    .withLabels(network.labels)
    .withNetworkMode(network.name)
    .withNetworkAliases(name)
    .withCommand(['--replSet', REPLICA_SET, '--port', String(port), ...SMALL_SERVER, ...HURRY])
    .withExposedPorts({ container: port, host: port })
    .withWaitStrategy(Wait.forLogMessage(/Waiting for connections/))
  return ContainerUnderTest.start({ name, container, isReady: () => isListening(`127.0.0.1:${port}`) })
}
