import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { stablePort } from '../../../scripts/ports/stable-port.ts'
import type { Setup } from '../receiver.ts'
import type { ServiceRun } from './service.ts'

/** How both services run for one measurement, with separate databases. */
export interface SystemRun {
  /** Where deliveries are posted. */
  readonly url: string
  readonly gatewayDb: string
  readonly fulfilmentDb: string
  readonly gateway: ServiceRun
  readonly fulfilment: ServiceRun
}

/** The name of the provider that sends the valid deliveries. */
export const PROVIDER = 'stripe'

// The default of 100,000 in 10 s keeps one provider from using everything. Here one provider sends all the load.
const MORE_THAN_CAN_BE_SENT = '10000000'

/**
 * Settings for both services. All are defaults, except names, addresses, secrets and the limit on deliveries of one
 * provider. Nothing listens at the address of fulfilment until fulfilment is started. With `handlers` (the content of
 * HANDLERS), payments reach these instead of fulfilment.
 */
export async function describeSystem(
  { mongoUri, folder, secret }: Setup,
  run: string,
  handlers?: Readonly<Record<string, object>>,
): Promise<SystemRun> {
  const [gatewayPort, adminPort, fulfilmentPort] = [await portText(), await portText(), await portText()]
  const gatewayDb = `gateway_${run}`
  const fulfilmentDb = `fulfilment_${run}`
  const fulfilmentUrl = `http://127.0.0.1:${fulfilmentPort}`
  const { privateKey, publicKey } = generateKeyPairSync('ed25519', {
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  const shared = { MONGODB_URI: mongoUri, SERVICE_PRIVATE_KEY: privateKey, SERVICE_PUBLIC_KEYS: publicKey }
  const effects = handlers === undefined ? {} : { effects: [] }
  const unknown = [{ id: 'unknown', value: randomBytes(32).toString('hex') }]
  const providers = {
    [PROVIDER]: { scheme: 'stripe', testMode: true, ...effects, secrets: [{ id: 'bench', value: secret }] },
    // Nobody can sign for these. They exist only to be flooded.
    twilio: { scheme: 'twilio', publicUrl: 'https://bench.example/api/webhooks/twilio', secrets: unknown },
    adyen: { scheme: 'adyen', secrets: unknown },
  }
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
        FULFILMENT_URL: fulfilmentUrl,
        PROVIDERS: JSON.stringify(providers),
        RATE_LIMIT_PROVIDER: MORE_THAN_CAN_BE_SENT,
        ...(handlers === undefined ? {} : { HANDLERS: JSON.stringify(handlers) }),
      },
      readyUrl: `http://127.0.0.1:${gatewayPort}/healthz`,
      logFolder: folder,
    },
    fulfilment: {
      name: 'fulfilment',
      env: {
        ...shared,
        FULFILMENT_DB: fulfilmentDb,
        FULFILMENT_PORT: fulfilmentPort,
        RECEIPT_SINK: `file:${folder}/receipts-${run}.jsonl`,
      },
      readyUrl: `${fulfilmentUrl}/readyz`,
      logFolder: folder,
    },
  }
}

async function portText(): Promise<string> {
  return String(await stablePort())
}
