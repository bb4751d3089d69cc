import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { newServiceKeyPair, type ServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
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
  /** The keys of its service tokens. Default: a pair for this process only. */
  readonly keys?: ServiceKeyPair
  /** The file of `SERVICE_PRIVATE_KEY`, instead of `keys`. */
  readonly privateKeyFile?: string
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
    ...(options.privateKeyFile === undefined
      ? { SERVICE_PRIVATE_KEY: (options.keys ?? newServiceKeyPair()).privateKey }
      : { SERVICE_PRIVATE_KEY_FILE: options.privateKeyFile }),
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
