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
import type { GatewayContext } from './gateway-context.ts'
import { mountApp } from './mount-app.ts'
import { type Housekeeping, startHousekeeping } from './start-housekeeping.ts'
import type { PublicListener } from './start-public-listener.ts'

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
export async function startBackground(context: GatewayContext, listener: PublicListener): Promise<Background | null> {
  const { mongo, registry, lifecycle, fulfilment } = context
  await context.settings.providers.loadAllSchemes()
  const client = await fulfilment()
  const orderAudit = createOrderAudit(context.audit, { logger: context.logger, wait: sleep })
  mountApp(context, { listener, fulfilment: client, recordChange: orderAudit.record })
  await mongo.background.open()
  if (lifecycle.isStopping) return null
  addInboxGauges(registry, () => readInboxDepth(mongo.background.db))
  addClockSkewGauge(registry, { db: mongo.background.db, clock: context.clock })
  // Operators act on the data that they see, so it must not be rolled back later.
  const db = mongo.background.durableDb
  const keyRegister = createKeyRegister({
    db,
    encryption: context.encryption,
    now: () => performance.now(),
    processId: context.owner,
  })
  addMissingKeysGauge(registry, keyRegister)
  const { settings, logger, clock, fetch, providers, databaseErrors, audit, encryption } = context
  const operator = createOperatorApi({
    tokens: { holders: settings.OPERATOR_TOKENS, accessTokens: openAccessTokens(context) },
    failedLogins: createFailedLogins({
      api: 'operator',
      limit: createRateLimit({
        ...{ name: 'failed', limit: settings.RATE_LIMIT_FAILED, clock },
        windowSeconds: settings.RATE_LIMIT_WINDOW_SECONDS,
      }),
      // There is no proxy in front of the private listener.
      trustedProxyHops: 0,
      logger,
      count: context.metrics.loginFailed,
    }),
    tokenChecks: createTokenChecks(context),
    errors: databaseErrors,
    parts: {
      ...{ db, encryption, keyRegister, audit, replays: createReplays(db), fulfilment: client },
      ...{ providers: providers.current, fetch, retention: readRetention(settings), clock, logger },
    },
  })
  return { operator, housekeeping: [...startHousekeeping(context, keyRegister), orderAudit] }
}

function createTokenChecks({ settings, clock }: GatewayContext): TokenChecks {
  const known = new KnownAddresses()
  const budget = new CheckBudget({ clock, known, isLimited: settings.RATE_LIMIT_FAILED > 0 })
  return { budget, known, now: () => performance.now() }
}

/** Asks the issuer at once, so that the log soon shows whether it answers. The start does not wait for the answer. */
function openAccessTokens({ settings, fetch, clock, logger }: GatewayContext): AccessTokens | null {
  const { operatorIssuer } = settings
  if (operatorIssuer === null) return null
  const keys = createIssuerKeys({ issuer: operatorIssuer.issuer, fetch, clock, logger })
  // Failures are already logged.
  keys.reload().catch(() => undefined)
  return createAccessTokens({ issuer: operatorIssuer, keys: keys.find, clock })
}
