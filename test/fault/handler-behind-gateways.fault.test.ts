import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, expect, it, type TestContext } from 'vitest'
import { stablePort } from '../../scripts/ports/stable-port.ts'
import { requireTool } from '../../scripts/tools/find-tool.ts'
import { type HandlerDatabase, prepareMongo, preparePostgres } from '../support/handler/handler-database.ts'
import { until } from '../support/until.ts'

// Half of the cycles on each database. `npm run test:handlers` has 100 on each.
const CYCLES = Math.ceil(Number(process.env.KILL_CYCLES || 12) / 2)
const SENDERS = 4
const MOST_OPEN = 200
const PROGRAM = resolve(import.meta.dirname, '../support/handler/handler-process.ts')
const SECRET = `whsec_${randomBytes(32).toString('base64')}`
const PROVIDER_SECRET = randomBytes(20).toString('hex')

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync(), 60_000)

it.for(['PostgreSQL', 'MongoDB'] as const)(
  'FP-42: a handler on %s that is killed behind two gateways has one effect of each acknowledged event, and no task is stuck',
  { timeout: 240_000 + CYCLES * 15_000 },
  async (kind, context) => {
    const [own, effects, port] = await Promise.all([
      testDatabase(process.env).then((database) => stack.use(database)),
      prepare(kind, context).then((database) => stack.use(database)),
      stablePort(),
    ])
    const gateways = [
      stack.use(await startGateway(optionsOf(own, port, 1))),
      stack.use(await startGateway(optionsOf(own, port, 20))),
    ]
    const acknowledged: string[] = []
    let isEnding = false
    let handled = 0
    const countHandled = async (): Promise<number> => {
      handled = (await effects.read('effects')).length
      return handled
    }
    const send = async (sender: number): Promise<void> => {
      for (let index = 0; !isEnding; index += 1) {
        const id = `${kind}_${sender}_${index}`
        const { url } = gateways[index % 2] ?? { url: '' }
        // As a provider does: an event without a 200 may be stored, too.
        while ((await deliver(url, id)) !== 200) await sleep(500)
        acknowledged.push(id)
        // No more than the handler does, or the rest would take minutes on a slow machine.
        do await sleep(40)
        while (!isEnding && acknowledged.length > handled + MOST_OPEN)
      }
    }
    const senders = Array.from({ length: SENDERS }, (_, sender) => send(sender))
    let running = await startProcess(effects, port)
    for (let cycle = 0; cycle < CYCLES; cycle += 1) {
      const before = await countHandled()
      await until(countHandled, (count) => count >= before + 10, 120_000)
      await sleep(Math.random() * 100)
      running.kill('SIGKILL')
      await once(running, 'exit')
      running = await startProcess(effects, port)
    }
    isEnding = true
    await Promise.all(senders)
    const open = () => own.db.collection('events').countDocuments({ state: { $ne: 'done' } })
    await until(open, (count) => count === 0, 120_000)
    const keys = acknowledged.map((id) => `shop:${id}:killed`).toSorted()
    expect(keys.length).toBeGreaterThan(CYCLES * 10)
    expect((await effects.read('effects')).toSorted()).toEqual(keys)
    running.kill('SIGKILL')
  },
)

async function prepare(kind: 'PostgreSQL' | 'MongoDB', context: TestContext): Promise<HandlerDatabase> {
  return kind === 'MongoDB' ? prepareMongo() : preparePostgres(await requireTool('postgresql', context))
}

function optionsOf(database: Parameters<typeof startGateway>[0]['database'], port: number, batch: number) {
  const handler = {
    https: `http://127.0.0.1:${port}/webhooks`,
    secrets: [{ id: '1', value: SECRET }],
    events: [{ types: ['invoice.*'] }],
    batch,
  }
  const provider = {
    scheme: 'hmac',
    header: 'x-signature',
    effects: [],
    secrets: [{ id: '1', value: PROVIDER_SECRET }],
  }
  return {
    database,
    providers: { shop: provider },
    settings: { HANDLERS: JSON.stringify({ killed: handler }), RETRY_BASE_MS: '50', RETRY_CAP_MS: '1000' },
  }
}

async function startProcess({ kind, url }: HandlerDatabase, port: number): Promise<ChildProcess> {
  const child = spawn(process.execPath, [PROGRAM, kind, url, SECRET, String(port)], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  stack.defer(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

async function deliver(url: string, id: string): Promise<number> {
  const body = JSON.stringify({ id, type: 'invoice.paid', data: { object: { id } } })
  const headers = {
    'content-type': 'application/json',
    'x-signature': createHmac('sha256', PROVIDER_SECRET).update(body).digest('hex'),
  }
  return (await fetch(`${url}/api/webhooks/shop`, { method: 'POST', headers, body })).status
}
