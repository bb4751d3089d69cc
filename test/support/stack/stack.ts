import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withTimeout } from '@oncehook/kernel/time/waits'
import type { DeliveryReport, PaymentProvider } from '@oncehook/simulator/payment-provider'
import type { PaymentEvent } from '@oncehook/webhooks/signing/payment-event'
import { type Collection, MongoClient } from 'mongodb'
import { stablePort } from '../../../scripts/ports/stable-port.ts'
import { createOrdersApi, type OrdersApi } from '../load/orders-api.ts'
import { until } from '../until.ts'
import { findLeaks, makeSecrets, type StackSecrets } from './canaries.ts'
import { ClaimWatch } from './claim-watch.ts'
import type { ApiOrder, EventRecord, OrderRecord, ReceiptLine } from './records.ts'
import { ServiceUnderTest, type Settings } from './service-under-test.ts'
import { createStackProvider, type ProviderName } from './stack-provider.ts'
import { fulfilmentSettings, gatewaySettings, type StackPlace } from './stack-settings.ts'

const DROPPED_WITHIN_MS = 10_000

/** How a test's stack differs from the usual one: settings by service, which override the stack's own. */
export interface StackOptions {
  readonly gateway?: Settings
  readonly fulfilment?: Settings
  /** The file that runs as the gateway. Default: the gateway's own. */
  readonly gatewayScript?: string
  /** The file that runs as fulfilment. Default: fulfilment's own. */
  readonly fulfilmentScript?: string
  /** The test's own MongoDB instead of that of the run. */
  readonly mongoUri?: string
}

/**
 * Gateway and fulfilment as real processes on the mongod of this test run, with their own databases, secrets and receipts
 * file. Disposing of it stops both and throws when a process ended unexpectedly, crashed, or let out a secret, a
 * signature or a body.
 */
export interface Stack extends AsyncDisposable {
  readonly gateway: ServiceUnderTest
  readonly fulfilment: ServiceUnderTest
  readonly place: StackPlace
  readonly secrets: StackSecrets
  /** The address of the gateway's public listener. */
  readonly url: string
  readonly orders: OrdersApi
  readonly events: Collection<EventRecord>
  readonly orderRecords: Collection<OrderRecord>
  /** A provider that signs as the gateway expects. `at`: the address where it delivers; default: that of the gateway. */
  provider(name: ProviderName, at?: string): PaymentProvider
  /** Delivers a payment event once, signed as the provider acme. */
  deliver(event: PaymentEvent): Promise<DeliveryReport>
  /** The receipts that have been sent. A key is there twice if a fault came between sending it and noting that. */
  receipts(): Promise<ReceiptLine[]>
  /** Waits until no event is pending or being processed and no receipt is owed. */
  untilSettled(): Promise<void>
  /** The events that nobody handled for long after their claim had ended, while `untilSettled` waited. */
  overdueClaims(): string[]
  /** Waits until the gateway reaches all that it needs. */
  untilReady(): Promise<void>
  /** The problems of the services so far, one sentence each: an unexpected end, a crash, a leak. */
  problems(): string[]
  /** Names the secrets, signatures and bodies of this stack that a text contains, without repeating them. */
  leaksIn(text: string): string[]
}

/** Starts a stack; both services are ready when it resolves. */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  await using resources = new AsyncDisposableStack()
  const place = await choosePlace(resources, options.mongoUri)
  const client = resources.use(await new MongoClient(place.mongoUri).connect())
  for (const name of [place.gatewayDb, place.fulfilmentDb]) resources.defer(() => dropDatabase(client, name))

  const signatures = new Set<string>()
  const ofFulfilment = { ...fulfilmentSettings(place), ...options.fulfilment }
  const fulfilment = new ServiceUnderTest('fulfilment', ofFulfilment, options.fulfilmentScript)
  const ofGateway = { ...gatewaySettings(place), ...options.gateway }
  const gateway = new ServiceUnderTest('gateway', ofGateway, options.gatewayScript)
  const databaseAddresses = addressesOf(place.mongoUri)
  const leaksIn = (text: string): string[] => findLeaks(text, { secrets: place.secrets, signatures, databaseAddresses })
  const problems = (): string[] => findProblems([fulfilment, gateway], leaksIn)
  resources.defer(() => {
    const found = problems()
    if (found.length > 0) throw new Error(found.join('\n'))
  })
  resources.use(fulfilment)
  resources.use(gateway)
  await Promise.all([fulfilment.start(), gateway.start()])

  const url = `http://127.0.0.1:${place.gatewayPort}`
  const events = client.db(place.gatewayDb).collection<EventRecord>('events')
  const orderRecords = client.db(place.fulfilmentDb).collection<OrderRecord>('orders')
  const claims = new ClaimWatch(events)
  const provider = (name: ProviderName, at = url): PaymentProvider =>
    createStackProvider({ name, url: at, secrets: place.secrets, signatures })
  const acme = provider('acme')
  const owned = resources.move()
  return {
    gateway,
    fulfilment,
    place,
    secrets: place.secrets,
    url,
    orders: createOrdersApi({ url, token: place.secrets.apiToken }),
    events,
    orderRecords,
    provider,
    deliver: (event) => acme.deliver(acme.write(event)),
    receipts: () => readReceipts(place.receiptsFile),
    untilSettled: async () => {
      try {
        await untilSettled(claims, events, orderRecords)
      } catch (error) {
        throw new Error([(error as Error).message, ...[fulfilment, gateway].flatMap(lastWarnings)].join('\n'))
      }
    },
    overdueClaims: () => claims.overdue,
    untilReady: () => untilReady(place.adminPort),
    problems,
    leaksIn,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** A full payment of an order, with these properties replaced. */
export function paymentOf(order: ApiOrder, members: Partial<PaymentEvent> = {}): PaymentEvent {
  return {
    id: `evt_${randomUUID()}`,
    type: 'payment.succeeded',
    paymentId: `pay_${order.id}`,
    orderId: order.id,
    amount: order.amountDue,
    currency: order.currency,
    occurredAt: Date.now(),
    ...members,
  }
}

/** Five payments of each order: in four rounds they fail, in the fifth they succeed. */
export function paymentRounds(orders: readonly ApiOrder[]): PaymentEvent[] {
  const failed = [0, 1, 2, 3].flatMap((round) =>
    orders.map((order) => paymentOf(order, { type: 'payment.failed', paymentId: `try_${round}_${order.id}` })),
  )
  return [...failed, ...orders.map((order) => paymentOf(order))]
}

/** Chooses unique names, ports and a unique folder. Nothing is started yet. */
export async function choosePlace(
  resources: AsyncDisposableStack,
  mongoUri = process.env.TEST_MONGODB_URI,
): Promise<StackPlace> {
  if (mongoUri === undefined) throw new Error('TEST_MONGODB_URI is not set: run the tests by npm test')
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-stack-'))
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  const name = `test_${randomBytes(6).toString('hex')}`
  return {
    secrets: makeSecrets(),
    mongoUri,
    gatewayDb: `${name}_gateway`,
    fulfilmentDb: `${name}_fulfilment`,
    gatewayPort: await stablePort(),
    adminPort: await stablePort(),
    fulfilmentPort: await stablePort(),
    receiptsFile: join(folder, 'receipts.jsonl'),
  }
}

/** Without a majority this would wait forever: a failed test whose nodes are unavailable would not end. */
async function dropDatabase(client: MongoClient, name: string): Promise<void> {
  await withTimeout(client.db(name).dropDatabase(), DROPPED_WITHIN_MS)
}

/** The receipts that a file sink has written; none when there is no file yet. */
async function readReceipts(file: string): Promise<ReceiptLine[]> {
  const content = await readFile(file, 'utf8').catch(() => '')
  return content
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ReceiptLine)
}

/** Waits until no event is pending or being processed and no receipt is owed. */
async function untilSettled(
  claims: ClaimWatch,
  events: Collection<EventRecord>,
  orders: Collection<OrderRecord>,
): Promise<void> {
  const grouped = { _id: { state: '$state', code: { $last: '$attempts.code' } }, count: { $sum: 1 } }
  const isOpen = { $match: { state: { $in: ['pending', 'processing'] } } }
  const unsettled = async () => {
    await claims.look()
    return events.aggregate([isOpen, { $group: grouped }]).toArray()
  }
  const owing = () => orders.find({ 'receipts.state': { $in: ['owed', 'sending'] } }).toArray()
  await until(unsettled, (groups) => groups.length === 0)
  await until(owing, (found) => found.length === 0)
}

const MOST_WARNINGS = 15

/** The newest log lines of a service that are more than information: why something did not happen in time. */
function lastWarnings({ written }: ServiceUnderTest): string[] {
  const isWarning = (line: string): boolean => /^\{"level":"(?:warn|error|fatal)"/.test(line)
  return written.split('\n').filter(isWarning).slice(-MOST_WARNINGS)
}

async function untilReady(adminPort: number): Promise<void> {
  const probe = async (): Promise<string> => (await fetch(`http://127.0.0.1:${adminPort}/readyz`)).text()
  await until(probe, (answer) => answer.startsWith('{"status":"ok"'))
}

/** The violations of requirements that apply to every process in every test. */
function findProblems(services: readonly ServiceUnderTest[], leaksIn: Stack['leaksIn']): string[] {
  return services.flatMap((service) => [
    ...service.faults,
    ...leaksIn(service.written).map((leak) => `${service.name}: ${leak}`),
    ...service.lines
      .filter(({ msg }) => msg === 'service.crashed' || msg === 'request.failed')
      .map((line) => `${service.name}: ${JSON.stringify(line)}`),
  ])
}

function addressesOf(mongoUri: string): string[] {
  const hosts = /^mongodb:\/\/(?:[^@/]*@)?([^/?]+)/.exec(mongoUri)?.[1] ?? ''
  return hosts.split(',').filter((host) => host.includes(':'))
}
