import { randomBytes } from 'node:crypto'
import { Secret } from '@oncehook/kernel/secrets/secret'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import type { TestDatabase } from '@oncehook/kernel/testing/test-database'
import { type Clock, systemClock } from '@oncehook/kernel/time/clock'
import { Lifecycle } from '@oncehook/kernel/time/lifecycle'
import { startGateway as startParts } from '../start/gateway.ts'
import type { Limits } from '../start/gateway-context.ts'
import { readGatewaySettings } from '../start/settings.ts'

/** The database that a test gives to a gateway, and its changes to the defaults. */
export interface StartOptions {
  readonly database: Pick<TestDatabase, 'uri' | 'name'>
  /** Default: an address where nothing listens. */
  readonly fulfilmentUrl?: string
  /** The secret of its service tokens. Default: one for this process only. */
  readonly secret?: Secret
  /** The file of `SERVICE_TOKEN_SECRETS`, instead of `secret`. */
  readonly serviceKeysFile?: string
  /** As in `PROVIDERS`. Default: none. */
  readonly providers?: object
  /** Other settings, by their environment variables. */
  readonly settings?: Readonly<Record<string, string>>
  /** Default: those of production. */
  readonly limits?: Partial<Limits>
  readonly clock?: Clock
  /** Measures the intervals of operators' calls. Default: that of the process. */
  readonly monotonicMs?: () => number
  readonly fetch?: typeof globalThis.fetch
  /** The folder of the operator's page. Default: none. */
  readonly consoleFolder?: string
}

/** A gateway, running in this process. */
export interface RunningGateway extends AsyncDisposable {
  /** The public listener. */
  readonly url: string
  /** The private listener. */
  readonly adminUrl: string
  /** The lines that it has logged, parsed. */
  readonly logs: readonly Record<string, unknown>[]
  /** Stops it in order. Resolves to whether everything ended well and in time. */
  close(): Promise<boolean>
}

/**
 * Starts a gateway in this process, on ports that the system chooses.
 * @throws SettingsError
 */
export async function startGateway(options: StartOptions): Promise<RunningGateway> {
  const settings = readGatewaySettings({
    GATEWAY_PORT: '0',
    ADMIN_PORT: '0',
    MONGODB_URI: options.database.uri.reveal(),
    GATEWAY_DB: options.database.name,
    FULFILMENT_URL: options.fulfilmentUrl ?? 'http://127.0.0.1:1',
    ...(options.serviceKeysFile === undefined
      ? { SERVICE_TOKEN_SECRET: (options.secret ?? new Secret(randomBytes(24).toString('hex'))).reveal() }
      : { SERVICE_TOKEN_SECRETS_FILE: options.serviceKeysFile }),
    PROVIDERS: JSON.stringify(options.providers ?? {}),
    RATE_LIMIT_FAILED: '0',
    RATE_LIMIT_API: '0',
    ...options.settings,
  })
  const { logger, lines } = memoryLogger()
  const lifecycle = new Lifecycle(logger)
  const { clock = systemClock, monotonicMs, fetch = globalThis.fetch, consoleFolder = null } = options
  const started = startParts(
    {
      ...{ settings, logger, clock, random: Math.random, fetch, findConsole: () => consoleFolder },
      limits: options.limits,
      ...(monotonicMs === undefined ? {} : { monotonicMs }),
    },
    lifecycle,
  )
  const { publicPort, adminPort } = await started.catch(async (error: unknown) => {
    await lifecycle.stop()
    throw error
  })
  return {
    url: `http://127.0.0.1:${publicPort}`,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    logs: lines,
    close: () => lifecycle.stop(),
    async [Symbol.asyncDispose]() {
      await lifecycle.stop()
    },
  }
}
