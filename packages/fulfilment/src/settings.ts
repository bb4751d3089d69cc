import type { Secret } from '@oncehook/kernel/secret'
import {
  integerSetting,
  logLevelSetting,
  mongoUriSetting,
  portSetting,
  readMongoUri,
  readSettings,
  secretSetting,
  textSetting,
} from '@oncehook/kernel/settings'
import { z } from 'zod'
import { sinkProblem } from './receipts/sinks/receipt-sinks.ts'

const MIN_TOKEN_LENGTH = 32
const DAY_SECONDS = 86_400

/** The settings of fulfilment, one member a variable of the environment. */
export const fulfilmentSchema = z.object({
  FULFILMENT_HOST: textSetting('127.0.0.1'),
  FULFILMENT_PORT: portSetting(8090),
  MONGODB_URI: mongoUriSetting(),
  FULFILMENT_DB: textSetting('oncehook_fulfilment'),
  SERVICE_TOKEN_SECRET: secretSetting(MIN_TOKEN_LENGTH),
  MAX_CONNECTIONS: integerSetting({ min: 1, max: 1_000_000, fallback: 1_000 }),
  IDEMPOTENCY_TTL_SECONDS: integerSetting({ min: 1, max: 30 * DAY_SECONDS, fallback: DAY_SECONDS }),
  RECEIPT_SINK: z.string().default('log:'),
  RECEIPT_FROM: z.string().optional(),
  LOG_LEVEL: logLevelSetting,
})

/** What fulfilment runs with. */
export type FulfilmentSettings = z.output<typeof fulfilmentSchema> & {
  /** Reads `MONGODB_URI` again; throws SettingsError. */
  readonly readMongoUri: () => Secret
}

/**
 * Reads the settings of fulfilment.
 * @throws SettingsError with every problem
 */
export function readFulfilmentSettings(env: NodeJS.ProcessEnv): FulfilmentSettings {
  const settings = readSettings(fulfilmentSchema, env, ({ RECEIPT_SINK = 'log:', RECEIPT_FROM }) => {
    const problem = sinkProblem(RECEIPT_SINK, RECEIPT_FROM)
    return problem === null ? [] : [`RECEIPT_SINK ${problem}`]
  })
  return { ...settings, readMongoUri: () => readMongoUri(env) }
}
