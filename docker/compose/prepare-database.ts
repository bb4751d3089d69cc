// Creates the replica set and its users at the first `up`; at every later one it checks that they exist. Shares the network of the
// first member, because MongoDB allows the first user to be created only from the same machine.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Document, MongoClient, MongoServerError } from 'mongodb'

const WITHIN_MS = 120_000
const UNAUTHORIZED = 13
const AUTHENTICATION_FAILED = 18
const ALREADY_INITIALIZED = 23
const PORT = 27_017

const { adminPassword, gatewayPassword, fulfilmentPassword } = JSON.parse(
  readFileSync('/run/secrets/users.json', 'utf8'),
) as Record<string, string>
const hosts = String(process.env.MONGO_MEMBERS)
  .split(',')
  .map((name) => `${name}:${PORT}`)
const deadline = AbortSignal.timeout(WITHIN_MS)
const say = (line: string): void => void process.stdout.write(`${line}\n`)

await beginReplicaSet()
await using client = administrator()
const admin = client.db('admin')
await untilDone('users', async () => {
  await ensureUser('gateway', { password: gatewayPassword, database: 'oncehook_gateway' })
  await ensureUser('fulfilment', { password: fulfilmentPassword, database: 'oncehook_fulfilment' })
})
await untilDone('members', addMembers)
await untilDone('every member in step', allInStep)
say(`The replica set of ${hosts.join(', ')} is ready`)

/** Starts with the first member alone, so that it is certain to be the primary; the others follow. */
async function beginReplicaSet(): Promise<void> {
  const auth = { username: 'administrator', password: adminPassword ?? '' }
  const nobody = `mongodb://127.0.0.1:${PORT}/?directConnection=true`
  await untilDone('the first member', async () => {
    await using client = new MongoClient(nobody, { serverSelectionTimeoutMS: 2_000 })
    const local = client.db('admin')
    const members = [{ _id: 0, host: hosts[0] }]
    const settings = { electionTimeoutMillis: 5_000 }
    await local
      .command({ replSetInitiate: { _id: 'rs0', members, settings } })
      .catch(ignoring(ALREADY_INITIALIZED, UNAUTHORIZED))
    if (await isAdministered(nobody, auth)) return
    // Only if the administrator does not exist yet. The roles allow it to create users and to add members.
    const roles = ['userAdminAnyDatabase', 'clusterManager', 'clusterMonitor']
    await local.command({ createUser: auth.username, pwd: auth.password, roles, mechanisms: ['SCRAM-SHA-256'] })
  })
}

async function isAdministered(uri: string, auth: { username: string; password: string }): Promise<boolean> {
  await using client = new MongoClient(uri, { auth, serverSelectionTimeoutMS: 2_000 })
  try {
    await client.db('admin').command({ replSetGetStatus: 1 })
    return true
  } catch (error) {
    if (error instanceof MongoServerError && error.code === AUTHENTICATION_FAILED) return false
    throw error
  }
}

function administrator(): MongoClient {
  const auth = { username: 'administrator', password: adminPassword ?? '' }
  const options = { replicaSet: 'rs0', authSource: 'admin', serverSelectionTimeoutMS: 10_000 }
  return new MongoClient(`mongodb://${hosts.join(',')}`, { ...options, auth })
}

/** Gives `readWrite` on one database and nothing else; updates a password that differs. */
async function ensureUser(name: string, account: { password: string | undefined; database: string }): Promise<void> {
  const command = { pwd: account.password, roles: [{ role: 'readWrite', db: account.database }] }
  const { users } = await admin.command({ usersInfo: name })
  await admin.command({
    [users.length > 0 ? 'updateUser' : 'createUser']: name,
    ...command,
    mechanisms: ['SCRAM-SHA-256'],
  })
}

/** Adds one at a time, as MongoDB requires. */
async function addMembers(): Promise<void> {
  const { config } = (await admin.command({ replSetGetConfig: 1 })) as { config: Document }
  const present = config.members.map(({ host }: Document) => host) as string[]
  const stranger = present.find((host) => !hosts.includes(host))
  if (stranger !== undefined) refuse(`The data belongs to a set with ${stranger}: start the members it was made with`)
  const missing = hosts.find((host) => !present.includes(host))
  if (missing === undefined) return
  const id = Math.max(...config.members.map(({ _id }: Document) => _id)) + 1
  const members = [...config.members, { _id: id, host: missing }]
  await admin.command({ replSetReconfig: { ...config, members, version: config.version + 1 } })
  await addMembers()
}

async function allInStep(): Promise<void> {
  const { members } = (await admin.command({ replSetGetStatus: 1 })) as { members: Document[] }
  const behind = members.find(({ stateStr }) => stateStr !== 'PRIMARY' && stateStr !== 'SECONDARY')
  if (behind !== undefined) throw new Error(`${behind.name} is ${behind.stateStr}`)
}

/** While servers start or elect a primary, a step can fail. */
async function untilDone(what: string, step: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await step()
    } catch (error) {
      if (deadline.aborted) refuse(`After ${WITHIN_MS / 1_000} s: ${what} is not ready: ${String(error)}`)
      await sleep(250)
    }
  }
}

function ignoring(...codes: number[]) {
  return (error: unknown) => {
    if (!(error instanceof MongoServerError && codes.includes(Number(error.code)))) throw error
  }
}

function refuse(reason: string): never {
  process.stderr.write(`${reason}\n`)
  process.exit(1)
}
