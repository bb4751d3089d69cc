import { randomUUID } from 'node:crypto'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PaymentProvider } from '@oncehook/simulator/payment-provider'
import type { Collection } from 'mongodb'
import type { TestContext } from 'vitest'
import { createOrdersApi, type OrdersApi } from '../load/orders-api.ts'
import { shareOut } from '../load/share-out.ts'
import { findLeaks, makeSecrets, type StackSecrets } from '../stack/canaries.ts'
import { ClaimWatch } from '../stack/claim-watch.ts'
import type { EventRecord, OrderRecord, ReceiptLine } from '../stack/records.ts'
import type { Settings } from '../stack/service-under-test.ts'
import { readReceipts, untilSettled } from '../stack/stack.ts'
import { createStackProvider, type ProviderParts } from '../stack/stack-provider.ts'
import { fulfilmentSettings, gatewaySettings, type StackPlace } from '../stack/stack-settings.ts'
import { startTogether } from '../start-together.ts'
import { containerImage, type ProxyImage, proxyImage } from './container-images.ts'
import { type ContainerNetwork, createContainerNetwork, listRemains } from './container-network.ts'
import {
  type ContainerService,
  type ContainerServiceOptions,
  RECEIPTS_FOLDER,
  SERVICE_PORTS,
  startContainerService,
} from './container-services.ts'
import { type Edge, type EdgeProxy, startEdgeProxy, type Trouble } from './edge-proxy.ts'
import { findProblems, stopAndJudge } from './judge-services.ts'
import { type MongoNodes, startMongoNodes } from './mongo-nodes.ts'

/** The images that a stack in containers is made from. */
export interface ContainerImages {
  readonly mongo: string
  readonly proxy: ProxyImage
  readonly gateway: string
  readonly fulfilment: string
}

/** The number of each service, and the settings that differ from the usual ones. */
export interface ContainerStackOptions {
  readonly images: ContainerImages
  readonly gateways: number
  readonly fulfilments: number
  readonly mongoNodes: 1 | 3
  readonly gateway?: Settings
  readonly fulfilment?: Settings
}

/** What is special about a provider of a stack. */
export interface ProviderHabits {
  /** How long it waits for an answer. Default: 10 s. */
  readonly timeoutMs?: number
  /** The amount of whitespace after each body. Default: none. */
  readonly paddingBytes?: number
}

/**
 * The whole system in containers on a separate network: provider -> gateways -> fulfilments, both on a MongoDB replica set,
 * with a proxy on every edge. Disposing of it stops the services by SIGTERM, removes everything, and throws when a service
 * crashed, ended otherwise than with 0, ran out of memory or let out a secret, a signature or a body, or when anything remains.
 */
export interface ContainerStack extends AsyncDisposable {
  readonly network: ContainerNetwork
  readonly gateways: readonly ContainerService[]
  readonly fulfilments: readonly ContainerService[]
  readonly mongo: MongoNodes
  readonly orders: OrdersApi
  readonly events: Collection<EventRecord>
  readonly orderRecords: Collection<OrderRecord>
  /** How often each gateway gave each answer, as `gateway1 200`; `none` where it gave none. */
  readonly answers: ReadonlyMap<string, number>
  /** Names the secrets, signatures and bodies of this stack that a text contains, without repeating them. */
  leaksIn(text: string): string[]
  /** The provider acme, which delivers to every gateway in turn. */
  provider(habits?: ProviderHabits): PaymentProvider
  /** The receipts that have been sent, as they are in their file. */
  receipts(): Promise<ReceiptLine[]>
  /** Waits until no event is pending or being processed and no receipt is owed. */
  untilSettled(): Promise<void>
  /** The events that nobody handled for long after their claim had ended, while `untilSettled` waited. */
  overdueClaims(): string[]
  /** The problems of the services so far, one sentence each: a crash, a leak. */
  problems(): Promise<string[]>
  /** Troubles an edge until the result is disposed of. */
  trouble(edge: Edge, trouble: Trouble): Promise<AsyncDisposable>
}

/** The images that the settings name, or those that are made here. If there are none, the test is skipped. */
export async function containerImages(context: TestContext): Promise<ContainerImages> {
  return {
    mongo: await containerImage('mongo', context),
    proxy: await proxyImage(context),
    gateway: await containerImage('gateway', context),
    fulfilment: await containerImage('fulfilment', context),
  }
}

const GATEWAY_LINES_FROM = 8_100

/** Starts a stack; all services are ready when it resolves. When that fails, nothing is left behind. */
export async function startContainerStack(options: ContainerStackOptions): Promise<ContainerStack> {
  await using resources = new AsyncDisposableStack()
  const receiptsFolder = await makeReceiptsFolder(resources)
  const network = resources.use(await createContainerNetwork())
  const { images } = options
  const mongo = await startMongoNodes(resources, { image: images.mongo, network, count: options.mongoNodes })
  const edges = await startEdges(resources, { options, network, mongo })

  const secrets = makeSecrets()
  const place = placeInside({ secrets, mongoUri: mongo.uri })
  const start = (name: ServiceName, settings: Settings, proxy: EdgeProxy) => {
    const image = images[name.startsWith('gateway') ? 'gateway' : 'fulfilment']
    const hosts = Object.fromEntries(mongo.nodes.map((node) => [node.name, proxy.address]))
    return startContainerService({ name, image, network, settings, hosts, receiptsFolder })
  }
  const gatewayInside = { ...gatewayInContainer(place, edges.gatewaySide), ...options.gateway }
  const fulfilmentInside = { ...fulfilmentInContainer(place), ...options.fulfilment }
  const startOne = (name: ServiceName) =>
    name.startsWith('gateway')
      ? start(name, gatewayInside, edges.gatewaySide)
      : start(name, fulfilmentInside, edges.fulfilmentSide)
  const names: ServiceName[] = [
    ...numbers(options.fulfilments).map((n) => `fulfilment${n}` as const),
    ...numbers(options.gateways).map((n) => `gateway${n}` as const),
  ]
  const services = await startTogether(resources, names.map(startOne))
  const signatures = new Set<string>()
  const leaksIn = (text: string): string[] => findLeaks(text, { secrets, signatures, databaseAddresses: [] })
  resources.defer(() => stopAndJudge(services, leaksIn))

  const client = resources.use(await mongo.connect())
  const events = client.db(place.gatewayDb).collection<EventRecord>('events')
  const orderRecords = client.db(place.fulfilmentDb).collection<OrderRecord>('orders')
  const claims = new ClaimWatch(events)
  const urls = numbers(options.gateways).map(
    (n) => `http://127.0.0.1:${edges.gatewaySide.publishedPort(GATEWAY_LINES_FROM + n)}`,
  )
  const answers = new Map<string, number>()
  const acmeAt = (url: string) => ({ name: 'acme', url, secrets, signatures }) as const
  const owned = resources.move()
  return {
    network,
    answers,
    leaksIn,
    gateways: services.filter(({ name }) => name.startsWith('gateway')),
    fulfilments: services.filter(({ name }) => name.startsWith('fulfilment')),
    mongo,
    orders: createOrdersApi({ url: urls[0] ?? '', token: secrets.apiToken }),
    events,
    orderRecords,
    provider: (habits = {}) =>
      shareOut(urls.map((url, at) => counting({ ...acmeAt(url), ...habits }, `gateway${at + 1}`, answers))),
    receipts: () => readReceipts(join(receiptsFolder, RECEIPTS_FILE)),
    untilSettled: () => untilSettled(claims, events, orderRecords),
    overdueClaims: () => claims.overdue,
    problems: () => findProblems(services, leaksIn),
    trouble: (edge, trouble) =>
      edges[edge === 'fulfilment-mongo' ? 'fulfilmentSide' : 'gatewaySide'].trouble(edge, trouble),
    async [Symbol.asyncDispose]() {
      await owned.disposeAsync()
      const remains = await listRemains()
      if (remains.length > 0) throw new Error(`Left behind: ${remains.join(', ')}`)
    },
  }
}

/** A provider whose answers are counted, by the name of its gateway. */
function counting(parts: ProviderParts, gateway: string, answers: Map<string, number>): PaymentProvider {
  const provider = createStackProvider(parts)
  return {
    ...provider,
    async deliver(message, tampered) {
      const report = await provider.deliver(message, tampered)
      const answer = `${gateway} ${report.status ?? 'none'}`
      answers.set(answer, (answers.get(answer) ?? 0) + 1)
      return report
    },
  }
}

type ServiceName = ContainerServiceOptions['name']

const RECEIPTS_FILE = 'receipts.jsonl'

/** The prefix of the folders for receipts of this process, in the folder for temporary files. */
export const RECEIPTS_PREFIX = `oncehook-receipts-${process.pid}-`

/** The service has a different user. Both users must be able to read and write the file. */
async function makeReceiptsFolder(resources: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), RECEIPTS_PREFIX))
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, RECEIPTS_FILE), '')
  await chmod(folder, 0o777)
  await chmod(join(folder, RECEIPTS_FILE), 0o666)
  return folder
}

interface EdgeParts {
  readonly options: ContainerStackOptions
  readonly network: ContainerNetwork
  readonly mongo: MongoNodes
}

/** Two proxies: each mongod keeps its name and port for all clients, so the edges to it must not share a proxy. */
async function startEdges(resources: AsyncDisposableStack, { options, network, mongo }: EdgeParts) {
  const image = options.images.proxy
  const toMongo = (edge: Edge) =>
    mongo.nodes.map(({ name, port }) => ({ edge, port, upstream: `${name}:${port}` }) as const)
  const toGateways = numbers(options.gateways).map(
    (n) =>
      ({
        edge: 'provider-gateway',
        port: GATEWAY_LINES_FROM + n,
        upstream: `gateway${n}:${SERVICE_PORTS.gateway}`,
      }) as const,
  )
  const toFulfilment = {
    edge: 'gateway-fulfilment',
    port: SERVICE_PORTS.fulfilment,
    upstream: `fulfilment:${SERVICE_PORTS.fulfilment}`,
  } as const
  const gatewayLines = [...toGateways, toFulfilment, ...toMongo('gateway-mongo')]
  const published = toGateways.map(({ port }) => port)
  const [gatewaySide, fulfilmentSide] = await startTogether(resources, [
    startEdgeProxy({ image, network, lines: gatewayLines, published }),
    startEdgeProxy({ image, network, lines: toMongo('fulfilment-mongo') }),
  ])
  if (gatewaySide === undefined || fulfilmentSide === undefined) throw new Error('A proxy is missing')
  return { gatewaySide, fulfilmentSide }
}

function placeInside({ secrets, mongoUri }: { readonly secrets: StackSecrets; readonly mongoUri: string }): StackPlace {
  return {
    secrets,
    mongoUri,
    gatewayDb: `gateway_${randomUUID().slice(0, 8)}`,
    fulfilmentDb: `fulfilment_${randomUUID().slice(0, 8)}`,
    gatewayPort: SERVICE_PORTS.gateway,
    adminPort: SERVICE_PORTS.admin,
    fulfilmentPort: SERVICE_PORTS.fulfilment,
    receiptsFile: `${RECEIPTS_FOLDER}/${RECEIPTS_FILE}`,
  }
}

function gatewayInContainer(place: StackPlace, proxy: EdgeProxy): Settings {
  return {
    ...gatewaySettings(place),
    GATEWAY_HOST: '0.0.0.0',
    ADMIN_HOST: '0.0.0.0',
    FULFILMENT_URL: `http://${proxy.address}:${SERVICE_PORTS.fulfilment}`,
    LOG_LEVEL: 'info',
  }
}

function fulfilmentInContainer(place: StackPlace): Settings {
  return { ...fulfilmentSettings(place), FULFILMENT_HOST: '0.0.0.0', LOG_LEVEL: 'info' }
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}
