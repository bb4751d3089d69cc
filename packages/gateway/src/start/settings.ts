import type { KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isLoopback } from '@oncehook/kernel/http/client'
import {
  type ClientTls,
  createClientTlsSource,
  createTlsPairSource,
  type TlsPair,
} from '@oncehook/kernel/http/server/tls'
import {
  createEncryptionKeysSource,
  type EncryptionKeys,
  encryptionKeySettings,
} from '@oncehook/kernel/secrets/encryption-keys'
import { findSecretWarnings, type SecretWarning } from '@oncehook/kernel/secrets/secret-register'
import { createPrivateKeySource, privateKeySetting } from '@oncehook/kernel/secrets/service-keys'
import type { FileSource } from '@oncehook/kernel/settings/file-source'
import {
  collectProblems,
  databaseSetting,
  integerSetting,
  logLevelSetting,
  mongoUriSetting,
  namesSetting,
  optionalIntegerSetting,
  optionalPortSetting,
  portSetting,
  readSetting,
  readSettings,
  SettingsError,
  textSetting,
  urlSetting,
} from '@oncehook/kernel/settings/settings'
import { textsOf } from '@oncehook/kernel/settings/text-source'
import { MAX_RECORD_BYTES } from '@oncehook/webhooks/providers'
import { z } from 'zod'
import { createHandlersSource, type HandlersSource } from '../handlers/handler-settings.ts'
import {
  API_TOKEN_KIND,
  type ApiGrant,
  OPERATOR_TOKEN_KIND,
  type OperatorGrant,
  readTokenHolders,
  type TokenHolders,
  type TokenSetting,
} from '../http/authentication.ts'
import {
  ISSUED_PREFIX,
  issuerSettings,
  type OperatorIssuer,
  readOperatorIssuer,
} from '../operator/access/operator-issuer.ts'
import { createProvidersSource, type ProvidersSource } from '../webhooks/providers/providers.ts'

const DAY_MS = 86_400_000

export const MOST_WORKERS = 64

const OWN_SETTINGS = {
  GATEWAY_HOST: textSetting('127.0.0.1'),
  GATEWAY_PORT: portSetting(8080),
  ADMIN_HOST: textSetting('127.0.0.1'),
  ADMIN_PORT: portSetting(8081),
  PRIVATE_NAMES: namesSetting(),
  METRICS_PORT: optionalPortSetting(),
  MONGODB_URI: mongoUriSetting(),
  GATEWAY_DB: databaseSetting('oncehook_gateway'),
  FULFILMENT_URL: urlSetting(['http:', 'https:'], 'http://127.0.0.1:8090'),
  CORS_ORIGINS: originsSetting(),
  TRUSTED_PROXY_HOPS: integerSetting({ min: 0, max: 16, fallback: 0 }),
  RATE_LIMIT_FAILED: rateSetting(100),
  RATE_LIMIT_PROVIDER: rateSetting(100_000),
  RATE_LIMIT_API: rateSetting(1_000),
  MAX_WEBHOOK_BYTES: integerSetting({ min: 1, max: MAX_RECORD_BYTES, fallback: 1_048_576 }),
  MAX_BODY_BYTES: integerSetting({ min: 1, max: 25_000_000, fallback: 262_144 }),
  SIGNATURE_TOLERANCE_SECONDS: integerSetting({ min: 1, max: 86_400, fallback: 300 }),
  MAX_CONNECTIONS: integerSetting({ min: 1, max: 1_000_000, fallback: 1_000 }),
  EVENT_RETENTION_DAYS: integerSetting({ min: 1, max: 36_500, fallback: 90 }),
  BODY_RETENTION_DAYS: optionalIntegerSetting({ min: 1, max: 36_500 }),
  DISPATCH_CONCURRENCY: integerSetting({ min: 1, max: 64, fallback: 2 }),
  LEASE_MS: integerSetting({ min: 100, max: 3_600_000, fallback: 20_000 }),
  RETRY_BASE_MS: integerSetting({ min: 1, max: 3_600_000, fallback: 2_000 }),
  RETRY_CAP_MS: integerSetting({ min: 1, max: 86_400_000, fallback: 900_000 }),
  RETRY_MAX_AGE_MS: integerSetting({ min: 1_000, max: 30 * DAY_MS, fallback: 3 * DAY_MS }),
  MAX_CRASHES: integerSetting({ min: 2, max: 1_000, fallback: 8 }),
  WORKERS: z.union([z.literal('auto'), integerSetting({ min: 1, max: MOST_WORKERS, fallback: 1 })], {
    error: `must be a whole number from 1 to ${MOST_WORKERS}, or auto`,
  }),
  TEST_EVENTS: z.enum(['store', 'apply']).default('store'),
  LOG_LEVEL: logLevelSetting,
}

/** Those of files, of tokens and of the issuer, which are read one by one. */
const READ_APART = {
  ADMIN_TLS_CERT: textSetting().optional(),
  ADMIN_TLS_KEY: textSetting().optional(),
  FULFILMENT_TLS_CA: textSetting().optional(),
  FULFILMENT_TLS_CLIENT_CERT: textSetting().optional(),
  FULFILMENT_TLS_CLIENT_KEY: textSetting().optional(),
  ...privateKeySetting,
  ...encryptionKeySettings,
  PROVIDERS: textSetting(),
  HANDLERS: textSetting().optional(),
  OPERATOR_TOKENS: z.string().default('{}'),
  ...issuerSettings,
  API_TOKENS: z.string().default('{}'),
}

/** The gateway's settings: each property is an environment variable. */
export const gatewaySchema = z.object({ ...OWN_SETTINGS, ...READ_APART })
const ownSchema = z.object(OWN_SETTINGS)

export type GatewaySettings = z.output<typeof ownSchema> & {
  readonly serviceKey: FileSource<KeyObject>
  /** The keys for encryption at rest; null if nothing is encrypted. */
  readonly encryptionKeys: FileSource<EncryptionKeys | null>
  /** The authorities and client certificate for calls to fulfilment; null for the defaults of Node. */
  readonly fulfilmentTls: FileSource<ClientTls | null>
  readonly API_TOKENS: TokenHolders<ApiGrant>
  readonly OPERATOR_TOKENS: TokenHolders<OperatorGrant>
  /** The issuer of other tokens for operators; null if there is none. */
  readonly operatorIssuer: OperatorIssuer | null
  readonly providers: ProvidersSource
  readonly handlers: HandlersSource
  /** Finds the weaknesses of the secrets that were read. */
  readonly findSecretWarnings: () => readonly SecretWarning[]
  /** The certificate and the key of the private listener; null if it uses plain HTTP. */
  readonly adminTls: FileSource<TlsPair | null>
}

/** @throws SettingsError with every problem */
export function readGatewaySettings(env: NodeJS.ProcessEnv): GatewaySettings {
  const { problems, attempt } = collectProblems()
  const settings = attempt(() => readSettings(ownSchema, env))
  if (settings) attempt(() => checkTestEvents(settings, env))
  const serviceKey = createPrivateKeySource(env)
  attempt(() => serviceKey.read())
  const encryptionKeys = createEncryptionKeysSource(env)
  attempt(() => encryptionKeys.read())
  const fulfilmentTls = createClientTlsSource(env, 'FULFILMENT_TLS')
  const tls = attempt(() => fulfilmentTls.read())
  if (tls && settings?.FULFILMENT_URL.protocol === 'http:') attempt(refuseClearCalls)
  const providers = createProvidersSource(env, {
    readText: () => readText('PROVIDERS', env),
    maxBytes: settings?.MAX_WEBHOOK_BYTES ?? 1,
    toleranceSeconds: settings?.SIGNATURE_TOLERANCE_SECONDS ?? 1,
  })
  const readable = attempt(() => providers.read())
  const handlers = createHandlersSource(env)
  attempt(() => handlers.read())
  const API_TOKENS = attempt(() => readTokenHolders(tokenSource('API_TOKENS', env), API_TOKEN_KIND))
  const OPERATOR_TOKENS = attempt(() => readTokenHolders(tokenSource('OPERATOR_TOKENS', env), OPERATOR_TOKEN_KIND))
  const operatorIssuer = attempt(() => readOperatorIssuer(env)) ?? null
  if (OPERATOR_TOKENS) attempt(() => refuseNamesOfOthers(OPERATOR_TOKENS))
  const adminTls = createTlsPairSource(env, 'ADMIN_TLS')
  attempt(() => adminTls.read())
  const isComplete = settings && readable && API_TOKENS && OPERATOR_TOKENS
  if (!isComplete || problems.length > 0) throw new SettingsError(problems)
  const warnings = { findSecretWarnings: () => findSecretWarnings(env) }
  const sources = { serviceKey, encryptionKeys, fulfilmentTls, adminTls, providers, handlers }
  return { ...settings, API_TOKENS, OPERATOR_TOKENS, operatorIssuer, ...warnings, ...sources }
}

// Prefixes of operators from an issuer, of principals of the orders API, and of providers.
const OTHERS_IN_AUDIT = [ISSUED_PREFIX, 'api:', 'provider:']

/** In the audit log, an operator with such a name would look like somebody else. */
function refuseNamesOfOthers(holders: TokenHolders<OperatorGrant>): void {
  const names = new Set(Array.from(holders.values(), ({ name }) => name))
  const problems = [...names].flatMap((name) => {
    const prefix = OTHERS_IN_AUDIT.find((one) => name.startsWith(one))
    const other = name.replace(':', '-')
    return prefix === undefined
      ? []
      : [`OPERATOR_TOKENS has the name ${name}: the audit log uses ${prefix} for others, so write ${other}`]
  })
  if (problems.length > 0) throw new SettingsError(problems)
}

function refuseClearCalls(): never {
  throw new SettingsError(['FULFILMENT_URL must begin with https:// if a FULFILMENT_TLS_… setting is set'])
}

type TextName = 'PROVIDERS' | 'API_TOKENS' | 'OPERATOR_TOKENS'

function readText(name: TextName, env: NodeJS.ProcessEnv): string {
  return readSetting(name, READ_APART[name], env)
}

function tokenSource(name: TextName, env: NodeJS.ProcessEnv): TokenSetting {
  return { name, json: readText(name, env), sources: textsOf(env, (path) => readFileSync(path, 'utf8'), true) }
}

/** How many requests a rate limit allows in its window. */
function rateSetting(fallback: number) {
  return integerSetting({ min: 0, max: 1_000_000_000, fallback })
}

/** Origins whose scripts may use the orders API, separated by commas; `*` allows any origin. */
function originsSetting() {
  return z
    .string()
    .default('')
    .transform((text, context): ReadonlySet<string> => {
      const origins = text.split(',').map((part) => part.trim())
      const wrong = origins.some((origin) => origin !== '' && origin !== '*' && URL.parse(origin)?.origin !== origin)
      if (wrong) context.addIssue({ code: 'custom', message: 'must be origins like https://shop.example, or *' })
      return new Set(origins.filter((origin) => origin !== ''))
    })
}

/**
 * Refuses test events with effects anywhere but in a development system: they are a way to pay an order without paying.
 * @throws SettingsError
 */
function checkTestEvents(settings: z.output<typeof ownSchema>, env: NodeJS.ProcessEnv): void {
  if (settings.TEST_EVENTS !== 'apply') return
  const isOpen = ![settings.GATEWAY_HOST, settings.ADMIN_HOST].every(isOfThisMachine)
  const problems = [
    ...(isOpen ? ['TEST_EVENTS can be apply only if GATEWAY_HOST and ADMIN_HOST are loopback addresses'] : []),
    ...(env.NODE_ENV === 'production' ? ['TEST_EVENTS cannot be apply if NODE_ENV is production'] : []),
  ]
  if (problems.length > 0) throw new SettingsError(problems)
}

function isOfThisMachine(host: string): boolean {
  const url = URL.parse(`http://${host.includes(':') ? `[${host}]` : host}`)
  return url !== null && isLoopback(url)
}
