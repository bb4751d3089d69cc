import { createHmac, hash, randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fulfilmentClient } from '@oncehook/fulfilment/testing/fulfilment-client'
import { type RunningFulfilment, startFulfilment } from '@oncehook/fulfilment/testing/start-fulfilment'
import { createEncryptionKeysSource } from '@oncehook/kernel/secrets/encryption-keys'
import type { TestDatabase } from '@oncehook/kernel/testing/test-database'
import type { Clock } from '@oncehook/kernel/time/clock'
import { EVENTS } from '@oncehook/queue/task'
import { createTRPCClient, httpLink, type TRPCClient } from '@trpc/client'
import type { Collection, Db } from 'mongodb'
import type { EventDocument } from '../inbox/event-document.ts'
import type { Limits } from '../start/gateway-context.ts'
import type { OperatorRouter } from '../start/operator-router.ts'
import { type RunningGateway, startGateway } from './start-gateway.ts'

/** A test's changes to the defaults of an operated system. */
export interface OperatedOptions {
  /** Settings of the gateway, by their environment variables. */
  readonly settings?: Readonly<Record<string, string>>
  /** Default: those of production. */
  readonly limits?: Partial<Limits>
  readonly clock?: Clock
  /** Measures the intervals of operators' calls. Default: that of the process. */
  readonly monotonicMs?: () => number
  readonly fetch?: typeof globalThis.fetch
  /** The folder of the operator's page. Default: none. */
  readonly consoleFolder?: string
  readonly receiptSink?: string
  readonly receiptLeaseMs?: number
  /** The file of fulfilment's encryption keys. Default: nothing is encrypted. */
  readonly encryptionKeysFile?: string
}

/** How a provider under test makes a delivery. */
interface TestDelivery {
  /** `acme` signs a time (the scheme of Stripe), `shop` signs none (a bare HMAC). Default: acme. */
  readonly provider?: 'acme' | 'shop'
  readonly secret?: string
  /** Seconds since 1970. Default: now. */
  readonly timestamp?: number
}

/** Gateway and fulfilment in this process on one test database, with the tokens of two operators. */
export interface OperatedSystem extends AsyncDisposable {
  readonly gateway: RunningGateway
  readonly fulfilment: RunningFulfilment
  /** The gateway's database. */
  readonly db: Db
  readonly events: Collection<EventDocument>
  /** The file of the providers. */
  readonly providersFile: string
  readonly secrets: typeof SECRETS
  readonly tokens: typeof TOKENS
  /** A typed client of the operator API. */
  operator(name?: keyof typeof TOKENS.operators): TRPCClient<OperatorRouter>
  /** Any call of the operator API. */
  call(path: string, init?: RequestInit): Promise<{ status: number; headers: Headers; body: string }>
  /** Sends a delivery with a signed body. Resolves to the status. */
  deliver(body: object | string, how?: TestDelivery): Promise<number>
  /** Creates an order over EUR 3.00 and resolves to its id. */
  order(): Promise<string>
  record(eventId: string): Promise<EventDocument>
  /** Waits until a record is as wanted. */
  until(eventId: string, isWanted: (record: EventDocument) => boolean): Promise<EventDocument>
  writeProviders(providers: object): Promise<void>
}

const canary = (name: string): string => `canary-${name}-${randomBytes(16).toString('hex')}`
const SECRETS = { older: canary('older'), newer: canary('newer'), shop: canary('shop') }
/** The tokens of an operated system: of its operators, who may do all, and of the API of orders. */
export const TOKENS = { operators: { alice: canary('alice'), bob: canary('bob') }, api: canary('api') }

/** The providers that an operated system starts with. */
export const PROVIDERS = {
  acme: {
    scheme: 'stripe',
    secrets: [
      { id: 'newer', value: SECRETS.newer },
      { id: 'older', value: SECRETS.older },
    ],
  },
  shop: {
    scheme: 'hmac',
    header: 'x-signature',
    effects: ['payment.succeeded', 'payment.failed'],
    secrets: [{ id: 'only', value: SECRETS.shop }],
  },
}

/** Settings with which an event is dead after a few failed attempts: their waits soon add up to the least limit. */
export const DEAD_SOON = { RETRY_BASE_MS: '500', RETRY_CAP_MS: '1000', RETRY_MAX_AGE_MS: '1000' }

/** Starts the system. Its retries have short waits. */
export async function startOperatedSystem(
  database: TestDatabase,
  { settings, receiptSink, receiptLeaseMs, encryptionKeysFile, ...parts }: OperatedOptions = {},
): Promise<OperatedSystem> {
  await using resources = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-operated-'))
  resources.defer(() => rm(folder, { recursive: true }))
  const providersFile = join(folder, 'providers.json')
  const writeProviders = (providers: object): Promise<void> => writeFile(providersFile, JSON.stringify(providers))
  await writeProviders(PROVIDERS)

  const fulfilmentDb = `${database.name}_fulfilment`
  resources.defer(async () => void (await database.client.db(fulfilmentDb).dropDatabase()))
  const fulfilment = resources.use(
    await startFulfilment({
      ...{ uri: database.uri, database: fulfilmentDb },
      encryptionKeys: createEncryptionKeysSource(
        encryptionKeysFile === undefined ? {} : { ENCRYPTION_KEYS_FILE: encryptionKeysFile },
      ),
      ...(receiptSink === undefined ? {} : { settings: { RECEIPT_SINK: receiptSink } }),
      ...(receiptLeaseMs === undefined ? {} : { receiptLeaseMs }),
    }),
  )
  const gateway = resources.use(
    await startGateway({
      ...{ database, fulfilmentUrl: fulfilment.url, keys: fulfilment.keys, ...parts },
      settings: {
        ...{ PROVIDERS: '', PROVIDERS_FILE: providersFile },
        ...{ OPERATOR_TOKENS: JSON.stringify(TOKENS.operators), API_TOKENS: JSON.stringify({ tests: TOKENS.api }) },
        ...{ RETRY_BASE_MS: '20', RETRY_CAP_MS: '100', ...settings },
      },
    }),
  )
  const owned = resources.move()
  const events = database.db.collection<EventDocument>(EVENTS)
  const deliver = createDeliver(gateway)
  const { record, until } = createReader(events)
  const { orders } = fulfilmentClient(fulfilment)
  return {
    ...{ gateway, fulfilment, db: database.db, events, providersFile, writeProviders, deliver, record, until },
    ...{ secrets: SECRETS, tokens: TOKENS },
    operator: (name = 'alice') => createOperatorClient(gateway.adminUrl, TOKENS.operators[name]),
    async call(path, init = {}) {
      const response = await fetch(`${gateway.adminUrl}${path}`, init)
      return { status: response.status, headers: response.headers, body: await response.text() }
    },
    async order() {
      const items = [{ sku: 'book', quantity: 2, unitAmount: 150 }]
      const { order } = await orders.create.mutate({ order: { customerId: 'cus_1', currency: 'EUR', items } })
      return order.id
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Creates a typed client of the operator API at this URL. */
export function createOperatorClient(adminUrl: string, token: string): TRPCClient<OperatorRouter> {
  return createTRPCClient<OperatorRouter>({
    links: [
      httpLink({ url: `${adminUrl}/operator`, methodOverride: 'POST', headers: { authorization: `Bearer ${token}` } }),
    ],
  })
}

/** The cookie that a browser sends after an answer. Those before it are removed. */
export function cookieOf({ headers }: { readonly headers: Headers }): string {
  return headers.getSetCookie().at(-1)?.split(';', 1)[0] ?? ''
}

/** The headers of a call of the operator's page: the cookie of a session, which the browser adds, and its id. */
export function pageHeaders(cookie: string): { cookie: string; 'oncehook-session': string } {
  return { cookie, 'oncehook-session': hash('sha256', cookie.slice(cookie.indexOf('=') + 1)).slice(0, 16) }
}

/** Creates a typed client that calls as the operator's page does. */
export function createPageClient(adminUrl: string, cookie: string): TRPCClient<OperatorRouter> {
  return createTRPCClient<OperatorRouter>({
    links: [httpLink({ url: `${adminUrl}/operator`, headers: pageHeaders(cookie) })],
  })
}

/** A payment event over EUR 3.00. The given properties of its object replace the usual ones. */
export function paymentEvent(id: string, object: object = {}, type = 'payment.succeeded'): object {
  const data = { object: { id: `pay_${id}`, amount: 300, currency: 'EUR', ...object } }
  return { id, type, livemode: true, data }
}

function createDeliver({ url }: RunningGateway): OperatedSystem['deliver'] {
  return async (body, { provider = 'acme', secret, timestamp = Math.floor(Date.now() / 1_000) } = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const mac = (key: string, signed: string): string => createHmac('sha256', key).update(signed).digest('hex')
    const signature: Record<string, string> =
      provider === 'acme'
        ? { 'stripe-signature': `t=${timestamp},v1=${mac(secret ?? SECRETS.newer, `${timestamp}.${text}`)}` }
        : { 'x-signature': mac(secret ?? SECRETS.shop, text) }
    const headers = { 'content-type': 'application/json', ...signature }
    const response = await fetch(`${url}/api/webhooks/${provider}`, { method: 'POST', body: text, headers })
    await response.arrayBuffer()
    return response.status
  }
}

const POLL_MS = 20
const LATEST_MS = 120_000

function createReader(events: Collection<EventDocument>): Pick<OperatedSystem, 'record' | 'until'> {
  const record = async (eventId: string): Promise<EventDocument> => {
    // As the operator API reads, so that it sees what a test has waited for.
    const found = await events.findOne({ eventId }, { readConcern: 'majority' })
    if (found === null) throw new Error(`There is no record of ${eventId}`)
    return found
  }
  return {
    record,
    async until(eventId, isWanted) {
      const deadline = performance.now() + LATEST_MS
      for (;;) {
        const found = await record(eventId)
        if (isWanted(found)) return found
        if (performance.now() > deadline) throw new Error(`Still not as wanted: ${found.state} ${found.reason}`)
        await new Promise((resolve) => setTimeout(resolve, POLL_MS))
      }
    },
  }
}
