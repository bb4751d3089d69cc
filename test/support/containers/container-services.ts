import { Wait } from 'testcontainers'
import { stablePort } from '../../../scripts/ports/stable-port.ts'
import type { Settings } from '../stack/service-under-test.ts'
import type { ContainerNetwork } from './container-network.ts'
import { ContainerUnderTest } from './container-under-test.ts'
import { LoopbackContainer } from './loopback-container.ts'

/** The ports of the services inside of their containers. */
export const SERVICE_PORTS = { gateway: 8_080, admin: 8_081, fulfilment: 8_090 } as const

/** The folder of receipts inside of fulfilment's containers. */
export const RECEIPTS_FOLDER = '/receipts'

/** A service in a container. */
export interface ContainerService {
  readonly name: string
  readonly container: ContainerUnderTest
  /** Where it answers `/readyz` and `/metrics`, on loopback. */
  readonly privateUrl: string
}

/** What a service's container is made from. */
export interface ContainerServiceOptions {
  /** Its name in the network. All services of a kind also share the name without the number. */
  readonly name: `gateway${number}` | `fulfilment${number}`
  readonly image: string
  readonly network: ContainerNetwork
  readonly settings: Settings
  /** Names that resolve differently than in the network: name -> address. */
  readonly hosts: Readonly<Record<string, string>>
  /** The folder of this machine that receipts go to. */
  readonly receiptsFolder: string
}

/** Starts a service as it runs in production, on a read-only root without capabilities and with 256 MiB. Ready when it resolves. */
export async function startContainerService(
  options: ContainerServiceOptions,
): Promise<ContainerService & AsyncDisposable> {
  const { name, image, network, settings, hosts, receiptsFolder } = options
  const isGateway = name.startsWith('gateway')
  const inside = isGateway ? SERVICE_PORTS.admin : SERVICE_PORTS.fulfilment
  const outside = await stablePort()
  const extraHosts = Object.entries(hosts).map(([host, ipAddress]) => ({ host, ipAddress }))
  const definition = new LoopbackContainer(image)
    .withHardening()
    .withLabels(network.labels)
    .withNetworkMode(network.name)
    .withNetworkAliases(name, name.replace(/\d+$/, ''))
    .withExtraHosts(extraHosts)
    .withEnvironment(settings)
    .withExposedPorts({ container: inside, host: outside })
    .withWaitStrategy(Wait.forLogMessage(/service\.started/))
    .withStartupTimeout(60_000)
  if (!isGateway) definition.withBindMounts([{ source: receiptsFolder, target: RECEIPTS_FOLDER, mode: 'rw' }])
  const privateUrl = `http://127.0.0.1:${outside}`
  const container = await ContainerUnderTest.start({ name, container: definition, isReady: () => isReady(privateUrl) })
  return { name, container, privateUrl, [Symbol.asyncDispose]: () => container[Symbol.asyncDispose]() }
}

async function isReady(privateUrl: string): Promise<boolean> {
  const answer = await fetch(`${privateUrl}/readyz`, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined)
  await answer?.arrayBuffer().catch(() => undefined)
  return answer?.status === 200
}
