import { basename } from 'node:path'
import { type CreatedProxy, StartedToxiProxyContainer } from '@testcontainers/toxiproxy'
import { Wait } from 'testcontainers'
import { until } from '../until.ts'
import type { ProxyImage } from './container-images.ts'
import type { ContainerNetwork } from './container-network.ts'
import { LoopbackContainer } from './loopback-container.ts'

/** A connection between two parts of the system. */
export type Edge = 'provider-gateway' | 'gateway-mongo' | 'gateway-fulfilment' | 'fulfilment-mongo'

/**
 * What goes wrong on an edge. `latencyMs`: the delay of each answer. `slowKBs`: the rate of requests, in KB per second.
 * `cut`: connections are reset as soon as they are used. `half-open`: requests arrive and take effect, and no answer ever
 * comes back.
 */
export type Trouble = { readonly latencyMs: number } | { readonly slowKBs: number } | 'cut' | 'half-open'

/** A route through a proxy: where the proxy listens, and the host and port in the network to which it forwards. */
interface EdgeLine {
  readonly edge: Edge
  readonly port: number
  readonly upstream: string
}

/** A proxy in a container. */
export interface EdgeProxy extends AsyncDisposable {
  /** Its address in the network of the test. */
  readonly address: string
  /** The port on loopback for the line with this port. */
  publishedPort(port: number): number
  /** Disturbs every line of an edge, including open ones, until the result is disposed of. */
  trouble(edge: Edge, trouble: Trouble): Promise<AsyncDisposable>
}

/** What a proxy is made from. */
export interface EdgeProxyOptions {
  readonly image: ProxyImage
  readonly network: ContainerNetwork
  readonly lines: readonly EdgeLine[]
  /** The ports of lines that are used from this machine. */
  readonly published?: readonly number[]
}

const CONTROL_PORT = 8_474
const READY_MS = 60_000

/** Starts a proxy; all lines are open when it resolves. */
export async function startEdgeProxy(options: EdgeProxyOptions): Promise<EdgeProxy> {
  const { image, network, lines, published = [] } = options
  await using resources = new AsyncDisposableStack()
  const container = await proxyContainer(image)
    .withLabels(network.labels)
    .withNetworkMode(network.name)
    .withNetworkAliases('proxy')
    .withExposedPorts(CONTROL_PORT, ...published)
    .withWaitStrategy(Wait.forLogMessage(/Starting HTTP server/))
    .withStartupTimeout(READY_MS)
    .start()
  resources.defer(async () => void (await container.stop()))
  const { client } = new StartedToxiProxyContainer(container)
  // If the tests run in a container, Testcontainers uses the engine's gateway as the host, but ports are on loopback.
  client.host = `http://127.0.0.1:${container.getMappedPort(CONTROL_PORT)}`
  await until(
    () => client.getVersion().catch(() => ''),
    (version) => version !== '',
  ) // it says so before it listens
  const opened = lines.map(async ({ edge, port, upstream }) => {
    const proxy = await client.createProxy({ name: `${edge}-${port}`, listen: `0.0.0.0:${port}`, upstream })
    return { edge, proxy }
  })
  const proxies = await Promise.all(opened)
  const owned = resources.move()
  return {
    address: container.getIpAddress(network.name),
    publishedPort: (port) => container.getMappedPort(port),
    async trouble(edge, trouble) {
      const toxic = toToxic(trouble)
      const affected = proxies.filter((one) => one.edge === edge)
      const toxics = await Promise.all(affected.map(({ proxy }) => proxy.addToxic(toxic)))
      return {
        async [Symbol.asyncDispose]() {
          await Promise.all(toxics.map((one) => one.remove()))
        },
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function proxyContainer({ name, program }: ProxyImage): LoopbackContainer {
  const container = new LoopbackContainer(name)
  if (program === undefined) return container
  const target = `/proxy/${basename(program)}`
  return container.withBindMounts([{ source: program, target, mode: 'ro' }]).withCommand(['node', target])
}

type ToxicBody = Parameters<CreatedProxy['instance']['addToxic']>[0]

function toToxic(trouble: Trouble): ToxicBody {
  const body = { name: 'trouble', toxicity: 1 } as const
  if (trouble === 'cut') return { ...body, type: 'reset_peer', stream: 'downstream', attributes: { timeout: 0 } }
  if (trouble === 'half-open') return { ...body, type: 'timeout', stream: 'downstream', attributes: { timeout: 0 } }
  if ('slowKBs' in trouble) {
    return { ...body, type: 'bandwidth', stream: 'upstream', attributes: { rate: trouble.slowKBs } }
  }
  return { ...body, type: 'latency', stream: 'downstream', attributes: { latency: trouble.latencyMs, jitter: 0 } }
}
