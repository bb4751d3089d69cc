import type { KeyObject } from 'node:crypto'
import { createServerTlsSource, type ServerTls } from '@oncehook/kernel/http/server/tls'
import {
  createEncryptionKeysSource,
  type EncryptionKeys,
  encryptionKeySettings,
} from '@oncehook/kernel/secrets/encryption-keys'
import { secretProblem } from '@oncehook/kernel/secrets/secret'
import { findSecretWarnings, registerSecret, type SecretWarning } from '@oncehook/kernel/secrets/secret-register'
import { createPublicKeysSource, publicKeysSetting } from '@oncehook/kernel/secrets/service-keys'
import { readWebhookKey } from '@oncehook/kernel/secrets/sign-webhook'
import type { FileSource } from '@oncehook/kernel/settings/file-source'
import {
  collectProblems,
  databaseSetting,
  integerSetting,
  logLevelSetting,
  mongoUriSetting,
  namesSetting,
  optionalPortSetting,
  portSetting,
  readSettings,
  SettingsError,
  textSetting,
} from '@oncehook/kernel/settings/settings'
import { z } from 'zod'
import { sinkProblem } from './receipts/sinks/receipt-sinks.ts'

const DAY_SECONDS = 86_400

const OWN_SETTINGS = {
  FULFILMENT_HOST: textSetting('127.0.0.1'),
  FULFILMENT_PORT: portSetting(8090),
  METRICS_PORT: optionalPortSetting(),
  PRIVATE_NAMES: namesSetting(),
  MONGODB_URI: mongoUriSetting(),
  FULFILMENT_DB: databaseSetting('oncehook_fulfilment'),
  MAX_CONNECTIONS: integerSetting({ min: 1, max: 1_000_000, fallback: 1_000 }),
  IDEMPOTENCY_TTL_SECONDS: integerSetting({ min: 1, max: 30 * DAY_SECONDS, fallback: DAY_SECONDS }),
  RECEIPT_RETENTION_DAYS: integerSetting({ min: 1, max: 36_500, fallback: 90 }),
  RECEIPT_SINK: z.string().default('log:'),
  RECEIPT_FROM: z.string().optional(),
  RECEIPT_SECRET: receiptKeysSetting(),
  LOG_LEVEL: logLevelSetting,
}
const ownSchema = z.object(OWN_SETTINGS)

/** The settings of fulfilment. Each property is an environment variable. */
export const fulfilmentSchema = z.object({
  ...OWN_SETTINGS,
  ...publicKeysSetting,
  ...encryptionKeySettings,
  FULFILMENT_TLS_CERT: textSetting().optional(),
  FULFILMENT_TLS_KEY: textSetting().optional(),
  FULFILMENT_TLS_CLIENT_CA: textSetting().optional(),
})

export type FulfilmentSettings = z.output<typeof ownSchema> & {
  readonly serviceKeys: FileSource<readonly KeyObject[]>
  /** The keys for encryption at rest; null if it is off. */
  readonly encryptionKeys: FileSource<EncryptionKeys | null>
  /** The certificate of the listener; null for plain HTTP. */
  readonly tls: FileSource<ServerTls | null>
  /** Finds the weaknesses of the secrets that were read. */
  readonly findSecretWarnings: () => readonly SecretWarning[]
}

/** @throws SettingsError with every problem */
export function readFulfilmentSettings(env: NodeJS.ProcessEnv): FulfilmentSettings {
  const { problems, attempt } = collectProblems()
  const settings = attempt(() =>
    readSettings(ownSchema, env, ({ RECEIPT_SINK = 'log:', ...texts }) => {
      const problem = sinkProblem(RECEIPT_SINK, { from: texts.RECEIPT_FROM, secret: texts.RECEIPT_SECRET })
      return problem === null ? [] : [`RECEIPT_SINK ${problem}`]
    }),
  )
  const serviceKeys = createPublicKeysSource(env)
  attempt(() => serviceKeys.read())
  const encryptionKeys = createEncryptionKeysSource(env)
  attempt(() => encryptionKeys.read())
  const tls = createServerTlsSource(env, 'FULFILMENT_TLS')
  attempt(() => tls.read())
  if (settings === undefined || problems.length > 0) throw new SettingsError(problems)
  // Its password, if it is the URL of a server.
  if (settings.RECEIPT_SINK.includes('://')) registerSecret(env, { place: 'RECEIPT_SINK', text: settings.RECEIPT_SINK })
  return { ...settings, serviceKeys, encryptionKeys, tls, findSecretWarnings: () => findSecretWarnings(env) }
}

const MOST_RECEIPT_KEYS = 3

/** Standard Webhooks secrets, separated by whitespace. Each one signs, so that receivers can rotate. */
function receiptKeysSetting() {
  return z
    .string()
    .optional()
    .transform((text, context): readonly KeyObject[] | undefined => {
      if (text === undefined) return undefined
      const secrets = text.trim().split(/\s+/)
      const keys = secrets.map(readWebhookKey).filter((key) => key !== null)
      const issue = (message: string): void => context.addIssue({ code: 'custom', message })
      if (secrets.length > MOST_RECEIPT_KEYS) issue(`has more than ${MOST_RECEIPT_KEYS} secrets`)
      else if (keys.length < secrets.length)
        issue('must be whsec_ followed by the base64 of 24 to 64 bytes (openssl rand -base64 32)')
      else if (secrets.some((secret) => secretProblem(secret.slice('whsec_'.length), 1) !== null)) {
        issue('is a sample placeholder')
      }
      return keys
    })
}
