import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { Webhook } from 'standardwebhooks'
import { afterAll, expect, it, type TestContext } from 'vitest'
import { requireTool } from '../../scripts/tools/find-tool.ts'
import { type HandlerDatabase, prepareMongo, preparePostgres } from '../support/handler/handler-database.ts'
import { until, untilEqual } from '../support/until.ts'

// Half of the cycles on each database. `npm run test:handlers` has 100 on each.
const CYCLES = Math.ceil(Number(process.env.KILL_CYCLES || 12) / 2)
const SENDERS = 8
const PROGRAM = resolve(import.meta.dirname, '../support/handler/handler-process.ts')
const SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes....').toString('base64')}`

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync(), 60_000)

const KINDS = ['PostgreSQL', 'MongoDB'] as const
type Kind = (typeof KINDS)[number]
const databases = new Map<Kind, Promise<HandlerDatabase>>()

/** The database of this kind. It starts when it is first used. */
async function databaseOf(kind: Kind, context: TestContext): Promise<HandlerDatabase> {
  const programs = kind === 'PostgreSQL' ? await requireTool('postgresql', context) : null
  const database =
    databases.get(kind) ??
    (programs === null ? prepareMongo() : preparePostgres(programs)).then((one) => stack.use(one))
  databases.set(kind, database)
  return database
}

it.for(KINDS)(
  'two processes have one effect of an event that comes a hundred times at once, on %s',
  async (kind, context) => {
    const database = await databaseOf(kind, context)
    const processes = await Promise.all([startProcess(database, 'patient'), startProcess(database, 'patient')])
    const answers = await Promise.all(
      Array.from({ length: 100 }, async (_, index) =>
        (await deliver(processes[index % 2]?.port ?? 0, 'copies')).json(),
      ),
    )
    const done = { outcome: 'done', repeated: false }
    expect(answers.filter((answer) => isDeepStrictEqual(answer, done))).toHaveLength(1)
    expect(answers.filter((answer) => isDeepStrictEqual(answer, { ...done, repeated: true }))).toHaveLength(99)
    await untilEqual(() => database.read('oncehook_outbox'), [])
    expect([await database.read('effects'), await database.read('sent')]).toEqual([['copies'], ['killed:copies:1']])
    for (const { child } of processes) child.kill('SIGKILL')
  },
)

it.for(KINDS)(
  'a handler that is killed under load has one effect of each acknowledged event, on %s',
  { timeout: 300_000 + CYCLES * 15_000 },
  async (kind, context) => {
    const database = await databaseOf(kind, context)
    const ofLoad = (keys: readonly string[]) => keys.filter((key) => key.includes(`${kind}_`)).toSorted()
    let interrupted = 0
    let running = await startProcess(database)
    const load = startLoad(kind)
    load.target = running.port
    for (let cycle = 0; cycle < CYCLES; cycle += 1) {
      const before = load.acknowledged.length
      await until(
        () => load.acknowledged.length,
        (count) => count >= before + 10,
      )
      await sleep(Math.random() * 100)
      interrupted += load.inFlight
      running.child.kill('SIGKILL')
      await once(running.child, 'exit')
      running = await startProcess(database)
      load.target = running.port
    }
    await load.end()
    // Otherwise this test would prove nothing.
    expect(interrupted).toBeGreaterThan(CYCLES)
    expect(ofLoad(await database.read('effects'))).toEqual(load.acknowledged.toSorted())
    // The senders do not wait for the messages. On a slow machine many are left.
    await until(
      () => database.read('oncehook_outbox'),
      (left) => left.length === 0,
      240_000,
    )
    const sent = new Set(ofLoad(await database.read('sent')))
    expect([...sent]).toEqual(load.acknowledged.map((key) => `killed:${key}:1`).toSorted())
    const [key = ''] = load.acknowledged
    expect(await (await deliver(running.port, key)).json()).toEqual({ outcome: 'done', repeated: true })
    running.child.kill('SIGKILL')
  },
)

interface Running {
  readonly child: ChildProcess
  readonly port: number
}

async function startProcess({ kind, url }: HandlerDatabase, patience: 'patient' | 'usual' = 'usual'): Promise<Running> {
  const child = spawn(process.execPath, [PROGRAM, kind, url, SECRET, '0', patience], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  stack.defer(() => void child.kill('SIGKILL'))
  const [line] = await once(child.stdout, 'data')
  return { child, port: Number(line) }
}

interface Load {
  target: number
  inFlight: number
  readonly acknowledged: string[]
  /** Starts no new events; resolves when each is acknowledged. */
  end(): Promise<void>
}

/** Senders that deliver each event until it is acknowledged. As with real senders, new events do not wait for failed ones. */
function startLoad(kind: string): Load {
  let [next, isEnding] = [0, false]
  const failed: string[] = []
  const load: Load = {
    ...{ target: 0, inFlight: 0, acknowledged: [] },
    async end() {
      isEnding = true
      await senders
    },
  }
  const newKey = (): string => {
    next += 1
    return `${kind}_${next}`
  }
  const sendAll = async (): Promise<void> => {
    for (let turn = 0; !isEnding || failed.length > 0; turn += 1) {
      const key = (isEnding || turn % 2 === 0 ? failed.shift() : undefined) ?? newKey()
      if (await isAcknowledged(load, key)) load.acknowledged.push(key)
      else {
        failed.push(key)
        // As a provider does, it waits before it delivers again.
        await sleep(25)
      }
    }
  }
  const senders = Promise.all(Array.from({ length: SENDERS }, sendAll))
  return load
}

async function isAcknowledged(load: Load, key: string): Promise<boolean> {
  load.inFlight += 1
  const { ok } = await deliver(load.target, key).catch(() => ({ ok: false }))
  load.inFlight -= 1
  return ok
}

function deliver(port: number, key: string): Promise<Response> {
  const body = JSON.stringify({ type: 'invoice.paid', data: { id: key } })
  const at = new Date()
  const headers = {
    ...{ 'content-type': 'application/json', 'webhook-id': key },
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(SECRET).sign(key, at, body),
  }
  return fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', headers, body })
}
