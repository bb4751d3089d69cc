import { setTimeout as sleep } from 'node:timers/promises'
import { addClockSkewGauge } from '@oncehook/kernel/mongo/clock-skew'
import { createKeyRegister } from '@oncehook/kernel/mongo/key-register'
import { addMissingKeysGauge } from '@oncehook/kernel/mongo/missing-keys'
import { createFailedLogins } from '../http/authentication/failed-logins.ts'
import { createRateLimit } from '../http/rate-limit.ts'
import { CheckBudget } from '../http/webhooks/check-budget.ts'
import { KnownAddresses } from '../http/webhooks/known-addresses.ts'
import { readRetention } from '../inbox/retention/retention.ts'
import { readInboxDepth } from '../inbox/statistics/inbox-depth.ts'
import { addInboxGauges } from '../metrics.ts'
import { type AccessTokens, createAccessTokens } from '../operator/access/access-token.ts'
import { createIssuerKeys } from '../operator/access/issuer-keys.ts'
import type { TokenChecks } from '../operator/access/limit-token-checks.ts'
import { createOrderAudit } from '../operator/audit/order-audit.ts'
import { createOperatorApi, type OperatorApi } from '../operator/operator-api.ts'
import { createReplays } from '../operator/replays/replays.ts'
import type { Foundation } from './gateway-parts.ts'
import { serveApplication } from './serve-application.ts'
import type { Front } from './start-front.ts'
import { type Housekeeping, startHousekeeping } from './start-housekeeping.ts'

/** The parts that run behind the deliveries. */
export interface Background {
  readonly operator: OperatorApi
  readonly housekeeping: Housekeeping
}

/**
 * Starts everything that no delivery needs: the application behind the public listener, the operator API and the
 * housekeeping. Resolves to null if the gateway is stopping. This file is loaded separately, so that deliveries are
 * accepted before it is loaded.
 */
export async function startBackground(foundation: Foundation, front: Front): Promise<Background | null> {
  const { mongo, registry, lifecycle, fulfilment } = foundation
  await foundation.settings.providers.loadAllSchemes()
  const client = await fulfilment()
  const orderAudit = createOrderAudit(foundation.audit, { logger: foundation.logger, wait: sleep })
  serveApplication(foundation, { front, fulfilment: client, recordChange: orderAudit.record })
  await mongo.background.open()
  if (lifecycle.isStopping) return null
  addInboxGauges(registry, () => readInboxDepth(mongo.background.db))
  addClockSkewGauge(registry, { db: mongo.background.db, clock: foundation.clock })
  // Operators act on the data that they see, so it must not be rolled back later.
  const db = mongo.background.durableDb
  const keyRegister = createKeyRegister({
    db,
    encryption: foundation.encryption,
    now: () => performance.now(),
    processId: foundation.owner,
  })
  addMissingKeysGauge(registry, keyRegister)
  const { settings, logger, clock, fetch, providers, databaseErrors, audit, encryption } = foundation
  const operator = createOperatorApi({
    tokens: { holders: settings.OPERATOR_TOKENS, accessTokens: openAccessTokens(foundation) },
    failedLogins: createFailedLogins({
      api: 'operator',
      limit: createRateLimit({
        ...{ name: 'failed', limit: settings.RATE_LIMIT_FAILED, clock },
        windowSeconds: settings.RATE_LIMIT_WINDOW_SECONDS,
      }),
      // There is no proxy in front of the private listener.
      trustedProxyHops: 0,
      logger,
      count: foundation.metrics.loginFailed,
    }),
    tokenChecks: createTokenChecks(foundation),
    errors: databaseErrors,
    parts: {
      ...{ db, encryption, keyRegister, audit, replays: createReplays(db), fulfilment: client },
      ...{ providers: providers.current, fetch, retention: readRetention(settings), clock, logger },
    },
  })
  return { operator, housekeeping: [...startHousekeeping(foundation, keyRegister), orderAudit] }
}

function createTokenChecks({ settings, clock }: Foundation): TokenChecks {
  const known = new KnownAddresses()
  const budget = new CheckBudget({ clock, known, isLimited: settings.RATE_LIMIT_FAILED > 0 })
  return { budget, known, now: () => performance.now() }
}

/** Asks the issuer at once, so that the log soon shows whether it answers. The start does not wait for the answer. */
function openAccessTokens({ settings, fetch, clock, logger }: Foundation): AccessTokens | null {
  const { operatorIssuer } = settings
  if (operatorIssuer === null) return null
  const keys = createIssuerKeys({ issuer: operatorIssuer.issuer, fetch, clock, logger })
  // Failures are already logged.
  keys.reload().catch(() => undefined)
  return createAccessTokens({ issuer: operatorIssuer, keys: keys.find, clock })
}
