import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import { findMongod } from '../../../scripts/mongod/find-mongod.ts'
import { mongodArguments, REPLICA_SET, TEST_COMMANDS } from '../../../scripts/mongod/mongod-arguments.ts'
import { throwawayFolder } from '../../../scripts/mongod/throwaway-folder.ts'
import { isListening } from '../../../scripts/ports/port.ts'
import { stablePort } from '../../../scripts/ports/stable-port.ts'
import { until } from '../until.ts'

/** Without this, a node that stops waits 15 s for a successor. */
const HURRY: readonly string[] = ['--setParameter', 'shutdownTimeoutMillisForSignaledShutdown=100']

// Recovery after a kill takes seconds, but many more if the machine is busy with other things.
const READY_MS = 180_000

/** A node of a replica set that belongs to one test: killed and started again on its data and port. */
export class MongodUnderTest implements AsyncDisposable {
  readonly port: number
  readonly dbPath: string
  readonly #command: readonly [binary: string, ...args: string[]]
  readonly #env: Readonly<Record<string, string>>
  #child: ChildProcess | undefined

  constructor(binary: string, { port, dbPath, env = {} }: MongodPlace) {
    this.port = port
    this.dbPath = dbPath
    this.#command = [binary, ...mongodArguments({ dbPath, port }), ...TEST_COMMANDS, ...HURRY]
    this.#env = env
  }

  /** The process that is alive now. */
  get pid(): number {
    return this.#running().pid ?? 0
  }

  /** Whether it has been started and not been killed since. */
  get alive(): boolean {
    return this.#child !== undefined
  }

  /** Starts it and waits until it takes connections. */
  async start(): Promise<void> {
    const [binary, ...args] = this.#command
    const child = spawn(binary, args, { stdio: 'ignore', env: { ...process.env, ...this.#env } })
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
    const child = this.#running()
    this.#child = undefined
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
  }

  /** Freezes it: its connections stay open and nothing answers. */
  pause(): void {
    this.#running().kill('SIGSTOP')
  }

  /** Lets it continue. */
  resume(): void {
    this.#running().kill('SIGCONT')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child !== undefined) await this.kill('SIGKILL')
  }

  #running(): ChildProcess {
    if (this.#child === undefined) throw new Error('mongod is not running')
    return this.#child
  }
}

/** Where a node listens and stores, and what is added to its environment. */
interface MongodPlace {
  readonly port: number
  readonly dbPath: string
  readonly env?: Readonly<Record<string, string>>
}

/** Freezes nodes until it is disposed of or they are resumed by hand. */
export function freeze(nodes: readonly MongodUnderTest[]): Disposable & { resume(): void } {
  const resume = (): void => {
    for (const node of nodes) if (node.alive) node.resume()
  }
  for (const node of nodes) node.pause()
  return { resume, [Symbol.dispose]: resume }
}

/** A replica set of one test, its nodes and how they are reached. */
export interface ReplicaSetUnderTest extends AsyncDisposable {
  readonly uri: string
  readonly nodes: readonly MongodUnderTest[]
  /** The node that is primary now; waits for the end of an election. */
  primary(): Promise<MongodUnderTest>
  /** The nodes other than the primary. */
  secondaries(): Promise<MongodUnderTest[]>
  /** Waits until one node is primary and all others follow it. */
  untilWhole(): Promise<void>
  /** Makes one of these nodes that can win primary, without waiting for the election timeout. */
  elect(candidates: readonly MongodUnderTest[]): Promise<MongodUnderTest>
}

/** How a replica set differs from the usual one. */
export interface ReplicaSetOptions {
  /** No node is elected unless `elect` is called, and a primary that is alone stays one. Default: false. */
  readonly electionsByHand?: boolean
  /** What is added to the environment of the first, second, third node. */
  readonly environments?: readonly Readonly<Record<string, string>>[]
  /** Chooses the port at which clients and other nodes reach a node. Default: the port where it listens. */
  readonly reachedAt?: (port: number) => Promise<number>
}

const ELECTION_MS = 2_000
// A tenth of the default, so that nodes find each other, and notice returning nodes, sooner.
const HEARTBEAT_MS = 200
const SETTINGS = { electionTimeoutMillis: ELECTION_MS, heartbeatIntervalMillis: HEARTBEAT_MS }
// Longer than the clock of a node jumps: with a shorter one, a primary whose clock jumps misses the others, and steps down.
const NEVER_MS = 4 * 3_600_000
// A new primary does not wait for a node that does not answer, or for data that only that node has.
const BY_HAND = { ...SETTINGS, electionTimeoutMillis: NEVER_MS, heartbeatTimeoutSecs: 3, catchUpTimeoutMillis: 0 }
const PRIMARY = 1
const SECONDARY = 2

/** Chooses ports and folders for this number of nodes. None is started yet: the first `begin` makes them a set. */
export async function prepareReplicaSet(
  count: 1 | 3,
  { electionsByHand = false, environments = [], reachedAt }: ReplicaSetOptions = {},
): Promise<ReplicaSetUnderTest & { readonly begin: () => Promise<void> }> {
  const { binary } = await findMongod({ env: process.env, say: console.error })
  await using resources = new AsyncDisposableStack()
  const folder = await throwawayFolder()
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  const nodes: MongodUnderTest[] = []
  const members: { readonly _id: number; readonly host: string }[] = []
  while (nodes.length < count) {
    const [dbPath, port] = [join(folder, `node${nodes.length}`), await stablePort()]
    await mkdir(dbPath)
    members.push({ _id: nodes.length, host: `127.0.0.1:${(await reachedAt?.(port)) ?? port}` })
    nodes.push(resources.use(new MongodUnderTest(binary, { port, dbPath, env: environments[nodes.length] ?? {} })))
  }
  const owned = resources.move()
  const primary = (): Promise<MongodUnderTest> => untilPrimary(nodes)
  const untilWhole = async (): Promise<void> => {
    const states = async (): Promise<number[]> => {
      const { members: found } = await adminCommand((await primary()).port, { replSetGetStatus: 1 })
      return (found as { state: number }[]).map(({ state }) => state).toSorted()
    }
    const wanted = [PRIMARY, ...nodes.slice(1).map(() => SECONDARY)]
    await until(states, (found) => found.join() === wanted.join(), READY_MS)
  }
  return {
    uri: `mongodb://${members.map(({ host }) => host).join(',')}/?replicaSet=${REPLICA_SET}`,
    nodes,
    primary,
    async secondaries() {
      const first = await primary()
      return nodes.filter((node) => node !== first)
    },
    untilWhole,
    elect: (candidates) => {
      let turn = 0
      const stepUp = async (): Promise<MongodUnderTest | null> => {
        const node = candidates[turn++ % candidates.length]
        if (node === undefined) return null
        await adminCommand(node.port, { replSetStepUp: 1 }).catch(() => null)
        const hello = await adminCommand(node.port, { hello: 1 }).catch(() => null)
        return hello?.isWritablePrimary === true ? node : null
      }
      return until(stepUp, (node) => node !== null, READY_MS) as Promise<MongodUnderTest>
    },
    async begin() {
      await Promise.all(nodes.map((node) => node.start()))
      const config = { _id: REPLICA_SET, members, settings: SETTINGS }
      await adminCommand(nodes[0]?.port ?? 0, { replSetInitiate: config })
      const { port } = await primary()
      if (!electionsByHand) return
      // Only now: the first election waits for the timeout too.
      await untilWhole()
      const { config: current } = (await adminCommand(port, { replSetGetConfig: 1 })) as { config: { version: number } }
      await adminCommand(port, { replSetReconfig: { ...current, version: current.version + 1, settings: BY_HAND } })
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Starts a replica set; it has a primary when it resolves. */
export async function startReplicaSet(count: 1 | 3, options: ReplicaSetOptions = {}): Promise<ReplicaSetUnderTest> {
  const set = await prepareReplicaSet(count, options)
  try {
    await set.begin()
    return set
  } catch (error) {
    await set[Symbol.asyncDispose]()
    throw error
  }
}

/** Runs a command of the administrator on the node that listens on a port of loopback. */
export async function adminCommand(port: number, document: object): Promise<Record<string, unknown>> {
  await using client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, {
    serverSelectionTimeoutMS: 2_000,
  })
  return await client.db('admin').command({ ...document })
}

/** The node that is primary now; waits for the end of an election, at least half a minute. */
async function untilPrimary(nodes: readonly MongodUnderTest[]): Promise<MongodUnderTest> {
  for (let tries = 0; tries < 600; tries += 1) {
    for (const node of nodes.filter(({ alive }) => alive)) {
      const hello = await adminCommand(node.port, { hello: 1 }).catch(() => undefined)
      if (hello?.isWritablePrimary === true) return node
    }
    await sleep(50)
  }
  throw new Error('No node became primary')
}
