import type { KeyObject } from 'node:crypto'
import type { ServerTls } from '@oncehook/kernel/http/server/tls'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { EncryptionKeys } from '@oncehook/kernel/secrets/encryption-keys'
import type { Secret } from '@oncehook/kernel/secrets/secret'
import type { ServiceTokens, ServiceTokenVerifier } from '@oncehook/kernel/secrets/service-token'
import type { FileSource } from '@oncehook/kernel/settings/file-source'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { newServiceKeyPair, type ServiceKeyPair, testServiceTokens } from '@oncehook/kernel/testing/service-key-pair'
import { type Clock, systemClock } from '@oncehook/kernel/time/clock'
import { Lifecycle } from '@oncehook/kernel/time/lifecycle'
import { type Db, MongoClient } from 'mongodb'
import { openFulfilment } from '../fulfilment.ts'
import { readFulfilmentSettings } from '../settings.ts'

export interface StartOptions {
  readonly uri: Secret
  readonly database: string
  /** Default: a key pair for this process only. */
  readonly keys?: ServiceKeyPair
  /** Replaces `keys`. */
  readonly serviceKeys?: FileSource<readonly KeyObject[]>
  /** Default: by `keys` or `serviceKeys`. */
  readonly verifyToken?: ServiceTokenVerifier
  /** Default: no encryption. */
  readonly encryptionKeys?: FileSource<EncryptionKeys | null>
  /** Default: plain HTTP. */
  readonly tls?: FileSource<ServerTls | null>
  /** Other settings, by their environment variables. */
  readonly settings?: Readonly<Record<string, string>>
  readonly keyLeaseMs?: number
  readonly receiptLeaseMs?: number
  readonly logger?: Logger
  readonly clock?: Clock
}

export interface RunningFulfilment extends AsyncDisposable {
  readonly url: string
  /** Its database, over a connection of the test. */
  readonly db: Db
  /** The keys of its service tokens. */
  readonly keys: ServiceKeyPair
  readonly tokens: ServiceTokens
  close(): Promise<void>
}

export async function startFulfilment(options: StartOptions): Promise<RunningFulfilment> {
  const { keys = newServiceKeyPair(), clock = systemClock, logger = memoryLogger().logger } = options
  const lifecycle = new Lifecycle(logger)
  const { port } = await openFulfilment(
    {
      settings: {
        ...readFulfilmentSettings({
          FULFILMENT_PORT: '0',
          MONGODB_URI: options.uri.reveal(),
          FULFILMENT_DB: options.database,
          SERVICE_PUBLIC_KEYS: keys.publicKey,
          ...options.settings,
        }),
        ...(options.serviceKeys === undefined ? {} : { serviceKeys: options.serviceKeys }),
        ...(options.encryptionKeys === undefined ? {} : { encryptionKeys: options.encryptionKeys }),
        ...(options.tls === undefined ? {} : { tls: options.tls }),
      },
      logger,
      clock,
      random: Math.random,
      fetch: globalThis.fetch,
      keyLeaseMs: options.keyLeaseMs ?? 60_000,
      receiptLeaseMs: options.receiptLeaseMs ?? 30_000,
      verifyToken: options.verifyToken,
    },
    lifecycle,
  )
  const client = await new MongoClient(options.uri.reveal()).connect()
  const close = async (): Promise<void> => {
    await lifecycle.stop()
    await client.close()
  }
  return {
    url: `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    db: client.db(options.database),
    keys,
    tokens: testServiceTokens(keys, { clock }),
    close,
    [Symbol.asyncDispose]: close,
  }
}
