import type { Clock } from '@oncehook/kernel/clock'
import type { Encryption } from '@oncehook/kernel/encryption'
import type { WatchedEncryptionKeys } from '@oncehook/kernel/encryption-keys'
import type { ShownMetrics } from '@oncehook/kernel/http/probes'
import type { ClientTls } from '@oncehook/kernel/http/tls-sources'
import type { Lifecycle } from '@oncehook/kernel/lifecycle'
import type { LogOutput } from '@oncehook/kernel/log-output'
import type { Logger } from '@oncehook/kernel/logger'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import type { MongoConnection } from '@oncehook/kernel/mongo/mongo-connection'
import type { WatchedServiceKeys } from '@oncehook/kernel/watch-service-keys'
import type { WatchedSource } from '@oncehook/kernel/watch-source'
import type { Registry } from 'prom-client'
import type { PaymentProcedures } from '../dispatch/apply-payments.ts'
import type { FulfilmentClient } from '../dispatch/fulfilment-client.ts'
import type { GatewayMetrics } from '../metrics.ts'
import type { Audit } from '../operator/audit.ts'
import type { WatchedProviders } from '../providers/watched-providers.ts'
import type { GatewaySettings } from '../settings.ts'

/** What a gateway is made of besides its settings: everything that tests may want in their own hands. */
export interface GatewayParts {
  readonly settings: GatewaySettings
  readonly logger: Logger
  /** Where the lines go, for the count of those that it lost. */
  readonly logOutput?: LogOutput
  readonly clock: Clock
  readonly random: () => number
  readonly fetch: typeof globalThis.fetch
  /** What the metrics endpoint shows in place of this process's own. */
  readonly showMetrics?: (own: Registry) => ShownMetrics
}

/** What every stage of the start works with: the parts, and what the stages before it have made. */
export interface Foundation extends GatewayParts {
  readonly lifecycle: Lifecycle
  /** The providers that count now. */
  readonly providers: WatchedProviders
  /** The keys of service tokens that count now. */
  readonly serviceKeys: WatchedServiceKeys
  /** The keys of encryption at rest that count now, and what encrypts by them. */
  readonly encryptionKeys: WatchedEncryptionKeys
  readonly encryption: Encryption
  /** What calls of fulfilment trust and show now. */
  readonly fulfilmentTls: WatchedSource<ClientTls | null>
  /** Names this process as the holder of claims. */
  readonly owner: string
  /** Two pools, so that a backlog never queues ahead of an accept. */
  readonly mongo: { readonly accepting: MongoConnection; readonly background: MongoConnection }
  /** The client of fulfilment, loaded when it is first asked for. */
  readonly fulfilment: () => Promise<FulfilmentClient>
  readonly payments: PaymentProcedures
  readonly registry: Registry
  readonly metrics: GatewayMetrics
  readonly audit: Audit
  readonly databaseErrors: DatabaseErrors
}
