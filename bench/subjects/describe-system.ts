import { randomBytes } from 'node:crypto'
import { freePort } from '../../scripts/port.ts'
import type { ServiceRun } from './service.ts'
import type { Laboratory } from './subject.ts'

/** How both services are run for one measurement, with databases of their own. */
export interface SystemRun {
  /** Where deliveries are posted. */
  readonly url: string
  readonly gatewayDb: string
  readonly fulfilmentDb: string
  readonly gateway: ServiceRun
  readonly fulfilment: ServiceRun
}

const PROVIDER = 'stripe'

/**
 * Settings for both services: all defaults, except where things are. Nothing listens at the address of fulfilment until
 * it is started.
 */
export async function describeSystem(
  { mongoUri, folder, secret, nodeFlags }: Laboratory,
  run: string,
): Promise<SystemRun> {
  const [gatewayPort, adminPort, fulfilmentPort] = [await portText(), await portText(), await portText()]
  const gatewayDb = `gateway_${run}`
  const fulfilmentDb = `fulfilment_${run}`
  const shared = { MONGODB_URI: mongoUri, SERVICE_TOKEN_SECRET: randomBytes(32).toString('hex') }
  const providers = { [PROVIDER]: { scheme: 'stripe', secrets: [{ id: 'bench', value: secret }] } }
  return {
    gatewayDb,
    fulfilmentDb,
    url: `http://127.0.0.1:${gatewayPort}/api/webhooks/${PROVIDER}`,
    gateway: {
      name: 'gateway',
      env: {
        ...shared,
        GATEWAY_DB: gatewayDb,
        GATEWAY_PORT: gatewayPort,
        ADMIN_PORT: adminPort,
        FULFILMENT_URL: `http://127.0.0.1:${fulfilmentPort}`,
        PROVIDERS: JSON.stringify(providers),
      },
      readyUrl: `http://127.0.0.1:${gatewayPort}/healthz`,
      logFolder: folder,
      nodeFlags,
    },
    fulfilment: {
      name: 'fulfilment',
      env: {
        ...shared,
        FULFILMENT_DB: fulfilmentDb,
        FULFILMENT_PORT: fulfilmentPort,
        RECEIPT_SINK: `file:${folder}/receipts-${run}.jsonl`,
      },
      readyUrl: `http://127.0.0.1:${fulfilmentPort}/readyz`,
      logFolder: folder,
      nodeFlags: [],
    },
  }
}

async function portText(): Promise<string> {
  return String(await freePort(0))
}
