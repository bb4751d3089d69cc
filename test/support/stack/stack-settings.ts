import { join } from 'node:path'
import type { StackSecrets } from './canaries.ts'
import type { Settings } from './service-under-test.ts'

/** The addresses at which the parts of a stack find each other. */
export interface StackPlace {
  readonly secrets: StackSecrets
  readonly mongoUri: string
  readonly gatewayDb: string
  readonly fulfilmentDb: string
  readonly gatewayPort: number
  readonly adminPort: number
  readonly fulfilmentPort: number
  readonly receiptsFile: string
}

const HOUR_MS = 3_600_000

/** The file that runs as a gateway with the limits in `TEST_LIMITS`, as JSON. */
export const LIMITED_GATEWAY = join(import.meta.dirname, 'limited-gateway.ts')

/** The header of the provider `shop`, and how its signature is written. */
const SHOP_SETTINGS = { scheme: 'hmac', header: 'X-Shop-Signature', prefix: 'sha256=' } as const

/** The effects of a provider whose scheme has no default. */
export const BOTH_EFFECTS = { effects: ['payment.succeeded', 'payment.failed'] } as const

/** `PROVIDERS` of a stack: one provider for each scheme. */
export function providersOf({ acme, stripe, shop }: StackSecrets): Record<string, object> {
  const soon = new Date(Date.now() + HOUR_MS).toISOString()
  const past = new Date(Date.now() - HOUR_MS).toISOString()
  const acmeSecrets = [
    { id: 'current', value: acme.current },
    { id: 'previous', value: acme.previous, notAfter: soon },
    { id: 'expired', value: acme.expired, notAfter: past },
  ]
  return {
    acme: { scheme: 'standard-webhooks', ...BOTH_EFFECTS, secrets: acmeSecrets },
    stripe: { scheme: 'stripe', testMode: true, secrets: [{ id: 'only', value: stripe }] },
    shop: { ...SHOP_SETTINGS, ...BOTH_EFFECTS, secrets: [{ id: 'only', value: shop }] },
  }
}

/** The gateway's settings. A claim lasts for `LEASE_MS` and the time of a call, which `TEST_LIMITS` can shorten. */
export function gatewaySettings(place: StackPlace): Settings {
  const { secrets } = place
  return {
    MONGODB_URI: place.mongoUri,
    GATEWAY_DB: place.gatewayDb,
    GATEWAY_PORT: String(place.gatewayPort),
    ADMIN_PORT: String(place.adminPort),
    FULFILMENT_URL: `http://127.0.0.1:${place.fulfilmentPort}`,
    SERVICE_PRIVATE_KEY: secrets.serviceKeys.privateKey,
    PROVIDERS: JSON.stringify(providersOf(secrets)),
    API_TOKENS: JSON.stringify({ tests: secrets.apiToken }),
    OPERATOR_TOKENS: JSON.stringify({ operator: secrets.operatorToken }),
    RATE_LIMIT_FAILED: '0',
    RATE_LIMIT_API: '0',
    LEASE_MS: '3000',
    RETRY_BASE_MS: '50',
    RETRY_CAP_MS: '500',
    LOG_LEVEL: 'trace',
  }
}

/** The settings of fulfilment; receipts go to a file. */
export function fulfilmentSettings(place: StackPlace): Settings {
  return {
    MONGODB_URI: place.mongoUri,
    FULFILMENT_DB: place.fulfilmentDb,
    FULFILMENT_PORT: String(place.fulfilmentPort),
    SERVICE_PUBLIC_KEYS: place.secrets.serviceKeys.publicKey,
    RECEIPT_SINK: `file:${place.receiptsFile}`,
    LOG_LEVEL: 'trace',
  }
}
