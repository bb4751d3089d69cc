import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDevelopmentSecret } from '@oncehook/simulator/development-secret'
import type { Settings } from './stack/service-under-test.ts'
import { providersOfFirstRelease, type StackPlace } from './stack/stack-settings.ts'

/** The settings of both services as release 0.1.0 took them. */
export interface FormerSettings {
  readonly gateway: Settings
  readonly fulfilment: Settings
}

/**
 * A whole configuration of release 0.1.0: every setting that its documents named, and every provider as they showed it,
 * with secrets in files of a folder.
 */
export async function settingsOfFirstRelease(place: StackPlace, folder: string): Promise<FormerSettings> {
  const { secrets, mongoUri } = place
  const limits = { RATE_LIMIT_WINDOW_SECONDS: '10', RATE_LIMIT_FAILED: '100', RATE_LIMIT_PROVIDER: '100000' }
  const times = { LEASE_MS: '30000', RETRY_BASE_MS: '2000', RETRY_CAP_MS: '900000', RETRY_MAX_AGE_MS: '259200000' }
  return {
    gateway: {
      ...{ MONGODB_URI: mongoUri, GATEWAY_DB: place.gatewayDb, SERVICE_TOKEN_SECRET: secrets.serviceToken },
      ...{ GATEWAY_HOST: '127.0.0.1', GATEWAY_PORT: String(place.gatewayPort) },
      ...{ ADMIN_HOST: '127.0.0.1', ADMIN_PORT: String(place.adminPort) },
      FULFILMENT_URL: `http://127.0.0.1:${place.fulfilmentPort}`,
      PROVIDERS: JSON.stringify({ ...providersOfFirstRelease(secrets), ...(await documentedProviders(folder)) }),
      OPERATOR_TOKENS: JSON.stringify({ operator: secrets.operatorToken }),
      API_TOKENS: JSON.stringify({ tests: secrets.apiToken }),
      ...{ CORS_ORIGINS: 'https://shop.example, https://desk.example', TRUSTED_PROXY_HOPS: '1' },
      ...{ MAX_WEBHOOK_BYTES: '1048576', MAX_BODY_BYTES: '262144', SIGNATURE_TOLERANCE_SECONDS: '300' },
      ...{ ...limits, RATE_LIMIT_API: '1000', HEADERS_TIMEOUT_MS: '5000', REQUEST_TIMEOUT_MS: '10000' },
      ...{ EVENT_RETENTION_DAYS: '90', DISPATCH_BATCH: '500', DISPATCH_CONCURRENCY: '2' },
      ...{ ...times, MAX_STARTS: '8', WORKERS: '1', LOG_LEVEL: 'info' },
    },
    fulfilment: {
      ...{ MONGODB_URI: mongoUri, FULFILMENT_DB: place.fulfilmentDb, SERVICE_TOKEN_SECRET: secrets.serviceToken },
      ...{ FULFILMENT_HOST: '127.0.0.1', FULFILMENT_PORT: String(place.fulfilmentPort) },
      ...{ IDEMPOTENCY_TTL_SECONDS: '86400', RECEIPT_SINK: `file:${place.receiptsFile}` },
      ...{ RECEIPT_FROM: 'shop@example.com', LOG_LEVEL: 'info' },
    },
  }
}

const API = { fetch: { token: randomBytes(16).toString('hex') } }

/** The entries of its docs/providers.md, without their secrets. */
const DOCUMENTED: Readonly<Record<string, object>> = {
  adyen: {},
  'adyen-platform': {},
  cashfree: {},
  checkout: {},
  discord: {},
  flutterwave: { fetch: { ...API.fetch, baseUrl: 'https://api.flutterwave.com/v3' } },
  fusionauth: {},
  github: { maxBytes: 8_000_000 },
  gitlab: { fetch: { ...API.fetch, baseUrl: 'https://gitlab.com' } },
  gocardless: {},
  'documented-shop': {
    ...{ scheme: 'hmac', header: 'x-signature', algorithm: 'sha256', encoding: 'hex', prefix: 'sha256=' },
    ...{ timestampHeader: 'x-timestamp', signedText: '{timestamp}.{body}', orderReference: '/data/object/reference' },
    events: { 'charge.paid': 'payment.succeeded', 'charge.refused': 'payment.failed' },
  },
  hook0: { version: 'v1' },
  lemonsqueezy: {},
  mercadopago: { fetch: { ...API.fetch, baseUrl: 'https://api.mercadopago.com' } },
  mollie: {},
  'mollie-classic': { fetch: { ...API.fetch, baseUrl: 'https://api.mollie.com/v2' } },
  paddle: {},
  paypal: {},
  razorpay: {},
  sendgrid: {},
  shopify: {},
  slack: {},
  square: { publicUrl: 'https://pay.example.com/api/webhooks/square' },
  'documented-standard': { scheme: 'standard-webhooks', shape: 'standard' },
  twilio: { publicUrl: 'https://pay.example.com/api/webhooks/twilio' },
  woocommerce: {},
  x: {},
  zoom: {},
}

async function documentedProviders(folder: string): Promise<Record<string, object>> {
  const entries = Object.entries(DOCUMENTED).map(async ([name, settings]) => {
    const scheme = 'scheme' in settings ? String(settings.scheme) : name
    const { value } = await makeDevelopmentSecret(scheme, Date.now())
    if (value === null) return [name, { scheme, ...settings }] as const
    const file = join(folder, name)
    await writeFile(file, `${value}\n`)
    return [name, { scheme, ...settings, secrets: [{ id: '2026', value: { file } }] }] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}
