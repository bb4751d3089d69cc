import { hash } from 'node:crypto'
import { type Secret, secretProblem } from '@oncehook/kernel/secret'
import {
  integerSetting,
  logLevelSetting,
  mongoUriSetting,
  portSetting,
  readMongoUri,
  readSettings,
  SettingsError,
  secretSetting,
  textSetting,
  urlSetting,
} from '@oncehook/kernel/settings'
import { z } from 'zod'
import { createProvidersSource, type ProvidersSource } from './providers/providers-source.ts'
import { MAX_RECORD_BYTES } from './providers/shared-settings.ts'

const MIN_TOKEN_LENGTH = 32
const DAY_MS = 86_400_000

/** The gateway's settings, one member a variable of the environment. */
export const gatewaySchema = z.object({
  GATEWAY_HOST: textSetting('127.0.0.1'),
  GATEWAY_PORT: portSetting(8080),
  ADMIN_HOST: textSetting('127.0.0.1'),
  ADMIN_PORT: portSetting(8081),
  MONGODB_URI: mongoUriSetting(),
  GATEWAY_DB: textSetting('oncehook_gateway'),
  FULFILMENT_URL: urlSetting(['http:', 'https:'], 'http://127.0.0.1:8090'),
  SERVICE_TOKEN_SECRET: secretSetting(MIN_TOKEN_LENGTH),
  PROVIDERS: textSetting(),
  OPERATOR_TOKENS: tokensSetting(),
  API_TOKENS: tokensSetting(),
  CORS_ORIGINS: originsSetting(),
  TRUSTED_PROXY_HOPS: integerSetting({ min: 0, max: 16, fallback: 0 }),
  RATE_LIMIT_WINDOW_SECONDS: integerSetting({ min: 1, max: 86_400, fallback: 10 }),
  RATE_LIMIT_FAILED: integerSetting({ min: 0, max: 1_000_000_000, fallback: 100 }),
  RATE_LIMIT_PROVIDER: integerSetting({ min: 0, max: 1_000_000_000, fallback: 100_000 }),
  RATE_LIMIT_API: integerSetting({ min: 0, max: 1_000_000_000, fallback: 1_000 }),
  MAX_WEBHOOK_BYTES: integerSetting({ min: 1, max: MAX_RECORD_BYTES, fallback: 1_048_576 }),
  MAX_BODY_BYTES: integerSetting({ min: 1, max: 25_000_000, fallback: 262_144 }),
  SIGNATURE_TOLERANCE_SECONDS: integerSetting({ min: 1, max: 86_400, fallback: 300 }),
  HEADERS_TIMEOUT_MS: integerSetting({ min: 100, max: 600_000, fallback: 5_000 }),
  REQUEST_TIMEOUT_MS: integerSetting({ min: 100, max: 600_000, fallback: 10_000 }),
  MAX_CONNECTIONS: integerSetting({ min: 1, max: 1_000_000, fallback: 1_000 }),
  EVENT_RETENTION_DAYS: integerSetting({ min: 1, max: 36_500, fallback: 90 }),
  DISPATCH_BATCH: integerSetting({ min: 1, max: 500, fallback: 500 }),
  DISPATCH_CONCURRENCY: integerSetting({ min: 1, max: 64, fallback: 2 }),
  LEASE_MS: integerSetting({ min: 100, max: 3_600_000, fallback: 30_000 }),
  RETRY_BASE_MS: integerSetting({ min: 1, max: 3_600_000, fallback: 2_000 }),
  RETRY_CAP_MS: integerSetting({ min: 1, max: 86_400_000, fallback: 900_000 }),
  RETRY_MAX_AGE_MS: integerSetting({ min: 1_000, max: 30 * DAY_MS, fallback: 3 * DAY_MS }),
  MAX_STARTS: integerSetting({ min: 2, max: 1_000, fallback: 8 }),
  WORKERS: integerSetting({ min: 1, max: 64, fallback: 1 }),
  LOG_LEVEL: logLevelSetting,
})

/** The SHA-256 of a token, in hexadecimal -> whose it is: the tokens themselves are not kept. */
export type TokenHolders = ReadonlyMap<string, string>

/** What the gateway runs with. */
export type GatewaySettings = Omit<z.output<typeof gatewaySchema>, 'PROVIDERS'> & {
  readonly providers: ProvidersSource
  /** Reads `MONGODB_URI` again; throws SettingsError. */
  readonly readMongoUri: () => Secret
}

/**
 * Reads the gateway's settings, the providers' secrets included.
 * @throws SettingsError with every problem
 */
export function readGatewaySettings(env: NodeJS.ProcessEnv): GatewaySettings {
  const problems: string[] = []
  const attempt = <T>(read: () => T): T | undefined => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error
      problems.push(...error.problems)
      return undefined
    }
  }
  const { PROVIDERS: providersSchema, ...others } = gatewaySchema.shape
  const settings = attempt(() => readSettings(z.object(others), env))
  const providers = createProvidersSource(env, {
    readText: () => readSettings(z.object({ PROVIDERS: providersSchema }), env).PROVIDERS,
    maxBytes: settings?.MAX_WEBHOOK_BYTES ?? 1,
    toleranceSeconds: settings?.SIGNATURE_TOLERANCE_SECONDS ?? 1,
  })
  const readable = attempt(() => providers.read())
  if (settings === undefined || readable === undefined) throw new SettingsError(problems)
  return { ...settings, providers, readMongoUri: () => readMongoUri(env) }
}

/** Origins whose scripts may use the orders API, separated by commas; `*` is any. */
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

/** JSON: name -> token. */
function tokensSetting() {
  return z
    .string()
    .default('{}')
    .transform((text, context): TokenHolders => {
      const tokens = z.record(z.string().min(1).max(64), z.string()).safeParse(parseJson(text))
      const issue = (message: string): void => context.addIssue({ code: 'custom', message })
      if (!tokens.success) issue('must be a JSON object of names and tokens')
      const holders = new Map<string, string>()
      for (const [name, token] of Object.entries(tokens.data ?? {})) {
        const problem = secretProblem(token, MIN_TOKEN_LENGTH)
        if (problem !== null) issue(`has a token of ${name} that ${problem}`)
        const digest = hash('sha256', token)
        const other = holders.get(digest)
        if (other !== undefined) issue(`has the same token for ${other} and ${name}`)
        holders.set(digest, name)
      }
      return holders
    })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
