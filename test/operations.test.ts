import { execFile } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { fulfilmentClient } from '@oncehook/fulfilment/testing/fulfilment-client'
import { startHandlerServer } from '@oncehook/gateway/testing/handlers/handler-server'
import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import {
  DEAD_SOON,
  PROVIDERS,
  paymentEvent,
  startOperatedSystem,
} from '@oncehook/gateway/testing/start-operated-system'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { createTestKeysFile } from '@oncehook/kernel/testing/test-encryption'
import { stripe } from '@oncehook/webhooks/signing/payments/stripe'
import { afterAll, describe, expect, it } from 'vitest'
import { runCommand } from '../packages/cli/src/testing/run-command.ts'

const repository = resolve(import.meta.dirname, '..')
// In the order in which their commands run: no data is erased within a minute of a backfill.
const PAGES = [
  'reference/operators',
  'how-to/delete-customer-data',
  ...['replay', 'handler-problem', 'alert', 'refused-delivery'].map((name) => `how-to/${name}`),
  ...['rotate-a-secret', 'back-up-and-restore'].map((name) => `how-to/${name}`),
]
const operations = PAGES.map((page) => readFileSync(join(repository, `docs/${page}.md`), 'utf8')).join('\n')

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const handlerServer = stack.use(await startHandlerServer())
const handler = {
  https: `${handlerServer.url}/hook`,
  secrets: [{ id: '1', value: `whsec_${randomBytes(32).toString('base64')}` }],
  events: [{ types: ['customer.*'] }],
}
const keys = stack.use(await createTestKeysFile('first'))
const system = stack.use(
  await startOperatedSystem(database, {
    settings: {
      ...{ ...DEAD_SOON, LEASE_MS: '3600000', ENCRYPTION_KEYS_FILE: keys.path },
      HANDLERS: JSON.stringify({ billing: handler, search: handler }),
    },
    encryptionKeysFile: keys.path,
  }),
)
const { orders } = fulfilmentClient(system.fulfilment)
const operator = system.operator()
const content = { customerId: 'cus_1', currency: 'EUR', items: [{ sku: 'book', quantity: 2, unitAmount: 150 }] }

/** The data folder of an `npm start` that runs the system of this test. */
function makeDataFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'oncehook-operations-'))
  stack.defer(() => rmSync(folder, { recursive: true }))
  const { url: gatewayUrl, adminUrl } = system.gateway
  const files = { secretsFile: 'secrets.json', providersFile: 'providers.json', secretVariables: {} }
  const running = { gatewayUrl, adminUrl, ...files, pid: process.pid }
  const { operators: operatorTokens, api } = system.tokens
  const secrets = { apiTokens: { dev: api }, operatorTokens, providers: {} }
  writeFileSync(join(folder, 'running.json'), JSON.stringify(running))
  writeFileSync(join(folder, 'secrets.json'), JSON.stringify(secrets))
  writeFileSync(join(folder, 'providers.json'), JSON.stringify(PROVIDERS))
  return folder
}

/** A file with a request of the provider acme that is authentic now. */
function keptRequest(): string {
  const body = Buffer.from(JSON.stringify(paymentEvent(randomUUID(), {})))
  const headers = stripe.sign({ body, secret: system.secrets.newer, now: Date.now() })
  const lines = ['POST /api/webhooks/acme HTTP/1.1', ...headers.map((line) => line.join(': ')), '', '']
  const file = join(makeDataFolder(), 'request.http')
  writeFileSync(file, Buffer.concat([Buffer.from(lines.join('\r\n')), body]))
  return file
}

/** A failed event whose cause is fixed. */
async function mendedEvent(): Promise<string> {
  const eventId = randomUUID()
  const orderId = await system.order()
  await system.deliver(paymentEvent(eventId, { orderId, amount: 600 }))
  const { _id } = await system.until(eventId, ({ state }) => state === 'dead')
  const items = [{ sku: 'book', quantity: 4, unitAmount: 150 }]
  await orders.patch.mutate({ id: orderId, patch: { items }, ifMatch: '*' })
  return String(_id)
}

/** An event that failed. */
async function failedEvent(): Promise<string> {
  const eventId = randomUUID()
  await system.deliver(paymentEvent(eventId, { orderId: await system.order(), amount: 600 }))
  const { _id } = await system.until(eventId, ({ state }) => state === 'dead')
  return String(_id)
}

/** An event that is claimed by a process that never finishes it. */
async function heldEvent(): Promise<string> {
  const held = sampleRecord({ state: 'processing', claim: 'stuck', dueAt: new Date(Date.now() + 50_000) })
  await system.events.insertOne(held)
  return String(held._id)
}

/** An event that came before its order. The order exists now. */
async function earlyEvent(): Promise<string> {
  const eventId = randomUUID()
  const orderId = `ord_${randomUUID()}`
  await system.deliver(paymentEvent(eventId, { orderId }))
  await system.until(eventId, ({ state, reason }) => state === 'dead' && reason === 'order_unknown')
  await orders.put.mutate({ id: orderId, order: content })
  return eventId
}

/** The provider's id of an event that had its effect. */
async function doneEvent(): Promise<string> {
  const eventId = randomUUID()
  await system.deliver(paymentEvent(eventId, { orderId: await system.order() }))
  await system.until(eventId, ({ state }) => state === 'done')
  return eventId
}

async function customerWithOrder(): Promise<string> {
  const customerId = `cus_${randomUUID()}`
  await orders.put.mutate({ id: `ord_${randomUUID()}`, order: { ...content, customerId } })
  return customerId
}

async function parkedReceipt(): Promise<string> {
  const eventId = randomUUID()
  const orderId = await system.order()
  await system.deliver(paymentEvent(eventId, { orderId }))
  await expect.poll(() => operator.receipts.list.query({ orderId, state: 'sent' })).toMatchObject({ items: [{}] })
  const documents = system.fulfilment.db.collection<{ _id: string }>('orders')
  await documents.updateOne({ _id: orderId }, { $set: { 'receipts.0.state': 'parked', 'receipts.0.dueAt': null } })
  return (await operator.receipts.list.query({ orderId })).items[0]?.key ?? ''
}

interface Typed {
  readonly dataFolder: string
  readonly operatorToken?: string
  /** What the line calls by `$NAME`. */
  readonly variables?: Readonly<Record<string, string>>
}

interface Ran {
  readonly code: number
  readonly output: string
}

/** Runs a line of a document that calls the command line. A shell splits it into arguments, as that of a reader does. */
async function run(line: string, { variables = {}, ...context }: Typed): Promise<Ran> {
  const split = line.replace(/^npm run (?:--silent )?oncehook --/, "printf '%s\\0'")
  const args = await promisify(execFile)('sh', ['-c', split], { env: variables })
  const { exitCode, stdout, stderr } = await runCommand(args.stdout.split('\0').slice(0, -1), context)
  return { code: exitCode, output: stdout + stderr }
}

/** The lines of the document's shell blocks that call the command line. */
function commandLines(document: string): string[] {
  const blocks = document.matchAll(/^```sh\n([\s\S]*?)^```$/gm)
  const lines = Array.from(blocks, ([, block = '']) => block.split('\n')).flat()
  return lines.filter((line) => line.startsWith('npm run'))
}

describe('the pages for operators', () => {
  it('contains only commands that work as written', async () => {
    const early = await earlyEvent()
    const { replayId } = await operator.events.replay.mutate({
      ...{ filter: { provider: 'nobody' }, reason: 'to have one' },
    })
    const variables = {
      EVENT: await mendedEvent(),
      EVENT_ID: await doneEvent(),
      FAILED: await failedEvent(),
      HELD: await heldEvent(),
      CUSTOMER: await customerWithOrder(),
      ORDER: await system.order(),
      RECEIPT: await parkedReceipt(),
      REPLAY: replayId ?? '',
    }
    const dataFolder = makeDataFolder()
    const lines = commandLines(operations)
    expect(lines.length).toBeGreaterThan(20)
    for (const line of lines) {
      const elsewhere = line.includes('https://10.0.0.5:8081')
      const token = elsewhere ? { operatorToken: system.tokens.operators.bob } : {}
      const { code, output } = await run(line.replace('https://10.0.0.5:8081', system.gateway.adminUrl), {
        ...{ dataFolder, ...token },
        // Made just before it is used: the signature is good for five minutes.
        variables: { ...variables, ...(line.includes('$REQUEST') ? { REQUEST: keptRequest() } : {}) },
      })
      expect({ line, code, output }).toEqual({ line, code: 0, output: expect.stringMatching(/\S/) })
      for (const secret of [...Object.values(system.secrets), ...Object.values(system.tokens.operators)]) {
        expect(output).not.toContain(secret)
      }
    }
    expect(await system.record(early)).toMatchObject({ state: 'done' })
    expect(await operator.events.get.query({ id: variables.EVENT })).toMatchObject({ state: 'done' })
    expect(await operator.events.get.query({ id: variables.FAILED })).toMatchObject({ state: 'closed' })
    const told = (await operator.audit.list.query({ limit: 100 })).items.map(({ action, reason }) => [action, reason])
    expect(told).toContainEqual(['receipts.release', 'not in the log of the mail server'])
    expect(told).toContainEqual(['replays.cancel', null])
  })

  it('names only log lines that are written', () => {
    const source = globSync('packages/*/src/**/*.ts', { cwd: repository })
      .map((path) => readFileSync(join(repository, path), 'utf8'))
      .join('\n')
    const named = Array.from(operations.matchAll(/`([a-z]+\.[a-z-]+)`/g), ([, name]) => name)
    expect(named.length).toBeGreaterThan(5)
    for (const name of named) expect(source).toContain(`'${name}'`)
  })
})
