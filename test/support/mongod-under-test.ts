import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import { findMongod } from '../../scripts/mongod/find-mongod.ts'
import { mongodArguments, REPLICA_SET, TEST_COMMANDS } from '../../scripts/mongod/mongod-arguments.ts'
import { isListening } from '../../scripts/port.ts'
import { stablePort } from '../../scripts/stable-port.ts'
import { until } from './until.ts'

/** A node that is told to stop waits 15 s for a successor otherwise. */
export const HURRY: readonly string[] = ['--setParameter', 'shutdownTimeoutMillisForSignaledShutdown=100']

// Recovery after a kill is a matter of seconds, but of many where the machine is busy with other things.
const READY_MS = 180_000

/** A node of a replica set that belongs to one test: killed and started again on its data and port. */
export class MongodUnderTest implements AsyncDisposable {
  readonly port: number
  readonly #command: readonly [binary: string, ...args: string[]]
  #child: ChildProcess | undefined

  constructor(binary: string, { port, dbPath }: { readonly port: number; readonly dbPath: string }) {
    this.port = port
    this.#command = [binary, ...mongodArguments({ dbPath, port }), ...TEST_COMMANDS, ...HURRY]
  }

  /** Whether it has been started and not been killed since. */
  get alive(): boolean {
    return this.#child !== undefined
  }

  /** Starts it and waits until it takes connections. */
  async start(): Promise<void> {
    const [binary, ...args] = this.#command
    const child = spawn(binary, args, { stdio: 'ignore' })
    const leave = (): void => void child.kill('SIGKILL')
    process.on('exit', leave)
    child.on('exit', () => process.off('exit', leave))
    await once(child, 'spawn')
    this.#child = child
    const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null
    await until(
      () => isListening(`127.0.0.1:${this.port}`),
      (listens) => listens || hasEnded(),
      READY_MS,
    )
    if (hasEnded()) throw new Error(`mongod ended with ${child.exitCode ?? child.signalCode}`)
  }

  /** Sends a signal that ends it and waits until it is gone. */
  async kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child
    if (child === undefined) throw new Error('mongod is not running')
    this.#child = undefined
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child !== undefined) await this.kill('SIGKILL')
  }
}

/** A replica set of one test, its nodes and how they are reached. */
interface ReplicaSetUnderTest extends AsyncDisposable {
  readonly uri: string
  readonly nodes: readonly MongodUnderTest[]
  /** The node that is primary now; waits for the end of an election. */
  primary(): Promise<MongodUnderTest>
}

/** Chooses ports and folders for so many nodes. None is started yet: the first `begin` makes them a set. */
export async function prepareReplicaSet(
  count: 1 | 3,
): Promise<ReplicaSetUnderTest & { readonly begin: () => Promise<void> }> {
  const { binary } = await findMongod({ env: process.env, say: console.error })
  await using resources = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-set-'))
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  const nodes: MongodUnderTest[] = []
  while (nodes.length < count) {
    const [dbPath, port] = [join(folder, `node${nodes.length}`), await stablePort()]
    await mkdir(dbPath)
    nodes.push(resources.use(new MongodUnderTest(binary, { port, dbPath })))
  }
  const members = nodes.map(({ port }, _id) => ({ _id, host: `127.0.0.1:${port}` }))
  const owned = resources.move()
  const primary = (): Promise<MongodUnderTest> => untilPrimary(nodes)
  return {
    uri: `mongodb://${members.map(({ host }) => host).join(',')}/?replicaSet=${REPLICA_SET}`,
    nodes,
    primary,
    async begin() {
      await Promise.all(nodes.map((node) => node.start()))
      const config = { _id: REPLICA_SET, members, settings: { electionTimeoutMillis: 2_000 } }
      await adminCommand(nodes[0]?.port ?? 0, { replSetInitiate: config })
      await primary()
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Starts a replica set; it has a primary when it resolves. */
export async function startReplicaSet(count: 1 | 3): Promise<ReplicaSetUnderTest> {
  const set = await prepareReplicaSet(count)
  await set.begin()
  return set
}

/** Runs a command of the administrator on the node that listens on a port of loopback. */
export async function adminCommand(port: number, document: object): Promise<Record<string, unknown>> {
  await using client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, {
    serverSelectionTimeoutMS: 2_000,
  })
  return await client.db('admin').command({ ...document })
}

/** A node of a set as it is reached from here: on a port of loopback. */
export interface ReachableNode {
  readonly port: number
  /** Whether it has been started and not been killed since. */
  readonly alive: boolean
}

/** The node that is primary now; waits for the end of an election, at least half a minute. */
export async function untilPrimary<Node extends ReachableNode>(nodes: readonly Node[]): Promise<Node> {
  for (let tries = 0; tries < 600; tries += 1) {
    for (const node of nodes.filter(({ alive }) => alive)) {
      const hello = await adminCommand(node.port, { hello: 1 }).catch(() => undefined)
      if (hello?.isWritablePrimary === true) return node
    }
    await sleep(50)
  }
  throw new Error('No node became primary')
}
