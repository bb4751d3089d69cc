import type { KeyObject } from 'node:crypto'
import type { ShownMetrics } from '@oncehook/kernel/http/server/probes'
import type { ClientTls } from '@oncehook/kernel/http/server/tls'
import type { LogOutput } from '@oncehook/kernel/log/log-output'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { SummaryLines } from '@oncehook/kernel/log/summary-lines'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import type { MongoConnection } from '@oncehook/kernel/mongo/mongo-connection'
import type { Encryption } from '@oncehook/kernel/secrets/encryption'
import type { EncryptionKeys } from '@oncehook/kernel/secrets/encryption-keys'
import type { WatchedSource } from '@oncehook/kernel/settings/file-source'
import type { Clock } from '@oncehook/kernel/time/clock'
import type { Lifecycle } from '@oncehook/kernel/time/lifecycle'
import type { Claims } from '@oncehook/queue/claim/claims'
import type { Send } from '@oncehook/queue/dispatch/send'
import type { Pauses } from '@oncehook/queue/pauses'
import type { Db } from 'mongodb'
import type { Registry } from 'prom-client'
import type { ApplyEvents } from '../handlers/fulfilment/apply-payments.ts'
import type { FulfilmentClient } from '../http/fulfilment-client.ts'
import type { Inbox } from '../inbox/inbox.ts'
import type { GatewayMetrics } from '../metrics.ts'
import type { Audit } from '../operator/audit/audit.ts'
import type { Providers } from '../webhooks/providers/providers.ts'
import type { Refusals } from '../webhooks/refusals/refusals.ts'
import type { GatewaySettings } from './settings.ts'

/** What is fixed in production. Tests use shorter times and smaller numbers. */
export interface Limits {
  readonly rateWindowSeconds: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  /** The longest wait of a request from its first octet. */
  readonly answerWithinMs: number
  /** The events of a call to fulfilment. */
  readonly dispatchBatch: number
  readonly fulfilmentCallMs: number
}

export const LIMITS: Limits = {
  rateWindowSeconds: 10,
  headersTimeoutMs: 5_000,
  requestTimeoutMs: 10_000,
  // Half a second of 10 s is left for the answer itself.
  answerWithinMs: 9_500,
  dispatchBatch: 500,
  fulfilmentCallMs: 10_000,
}

/** The settings of a gateway, and the dependencies that tests can replace. */
export interface GatewayDeps {
  readonly settings: GatewaySettings
  readonly logger: Logger
  /** The output of the logger, which counts the lines that it lost. */
  readonly logOutput?: LogOutput
  readonly clock: Clock
  /** Measures intervals, in milliseconds on a clock that is never set back. Default: that of the process. */
  readonly monotonicMs?: () => number
  readonly random: () => number
  readonly fetch: typeof globalThis.fetch
  /** Finds the folder of the built files of the operator's page. Null if there is none. Default: none. */
  readonly findConsole?: () => string | null
  /** Returns the metrics that the endpoint shows instead of this process's own. */
  readonly showMetrics?: (own: Registry) => ShownMetrics
  /** Default: `LIMITS`. */
  readonly limits?: Partial<Limits> | undefined
  /** Records the steps of the protocol, for tests. Default: nothing is recorded. */
  readonly recording?: Recording | undefined
}

/** The context that all stages of the start share: the dependencies, and everything that is created from them. */
export interface GatewayContext extends GatewayDeps {
  readonly limits: Limits
  readonly lifecycle: Lifecycle
  /** The log lines that cover several events each. They end after everything else. */
  readonly summaries: SummaryLines
  readonly providers: WatchedSource<Providers>
  readonly serviceKey: WatchedSource<KeyObject>
  /** The current keys for encryption at rest, and the encryption that uses them. */
  readonly encryptionKeys: WatchedSource<EncryptionKeys | null>
  readonly encryption: Encryption
  /** The current authorities and client certificate for calls to fulfilment. */
  readonly fulfilmentTls: WatchedSource<ClientTls | null>
  /** The name of all claims that this process makes on insert. Others each have a name of their own. */
  readonly owner: string
  /**
   * Three pools, so that a backlog never delays a delivery, and an operator delays neither. That of operators connects when the
   * first one asks.
   */
  readonly mongo: Readonly<Record<'accepting' | 'background' | 'operators', MongoConnection>>
  readonly pauses: Pauses
  /** The pauses of handlers, as this process knows them. Nobody reads them unless handlers are configured. */
  readonly handlerPauses: Pauses
  readonly fulfilment: FulfilmentClient
  readonly applyEvents: ApplyEvents
  readonly registry: Registry
  readonly shownMetrics: ShownMetrics
  readonly metrics: GatewayMetrics
  readonly refusals: Refusals
  readonly audit: Audit
  readonly databaseErrors: DatabaseErrors
}

/**
 * Records the steps of the protocol, so that a test can compare them with the model in `docs/model`. Each function
 * returns the same part, which also records its steps. In production there is no recording, and no part is replaced.
 */
export interface Recording {
  /** The inserts of records, as the commands and the replies have them. */
  inserts(db: Db): Db
  /** The answers to deliveries. */
  answers(inbox: Inbox): Inbox
  /** Claims, takeovers, settlements and releases. */
  claims(claims: Claims): Claims
  /** The calls to fulfilment and their results. */
  calls(send: Send): Send
}
