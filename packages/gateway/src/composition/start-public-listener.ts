import { randomUUID } from 'node:crypto'
import { guardFraming } from '@oncehook/kernel/http/server/framing-guard'
import { listen } from '@oncehook/kernel/http/server/listen'
import { logRefused } from '@oncehook/kernel/http/server/send-error'
import { isHandled } from '../dispatch/handlers.ts'
import type { FindWanting } from '../handlers/events/find-wanting.ts'
import { AddressLimits } from '../http/address-limits.ts'
import { type AppDeps, createApp } from '../http/app.ts'
import { createFailedLogins } from '../http/authentication/failed-logins.ts'
import type { OrderDeps } from '../http/orders/order-context.ts'
import { createRateLimit, type RateLimit } from '../http/rate-limit.ts'
import { timeRequests } from '../http/time-requests.ts'
import { BodyBudget } from '../http/webhooks/body-budget.ts'
import { LastAnswers } from '../http/webhooks/last-answers.ts'
import { RefusalSummary } from '../http/webhooks/refusal-summary.ts'
import type { WebhookDeps } from '../http/webhooks/webhooks.ts'
import type { Inbox } from '../inbox/inbox.ts'
import { createTransmissions } from '../inbox/transmissions.ts'
import { createRequestTimer } from '../metrics.ts'
import type { GatewayContext } from './gateway-context.ts'

// Together with the rest of the process, the gateway stays below 256 MiB.
const BODY_BYTES = 16 * 1024 * 1024
const LATE_MS = 100
const SUMMARY_MS = 1_000

/** An open public listener. */
export interface PublicListener {
  readonly port: number
  /** The dependencies of the webhook route. */
  readonly webhooks: WebhookDeps
}

/** Where deliveries are stored, who wants them, and where changes of orders are recorded. */
export interface Receiving extends Pick<OrderDeps, 'recordChange'> {
  readonly inbox: Inbox
  /** Finds the handlers that want an event. Absent: none are configured. */
  readonly findWanting: FindWanting | undefined
}

/** Opens the public listener. Deliveries and requests are accepted from then on. */
export async function startPublicListener(context: GatewayContext, receiving: Receiving): Promise<PublicListener> {
  const { settings, limits, registry, lifecycle, logger } = context
  const summary = new RefusalSummary(logger)
  const lastAnswers = new LastAnswers()
  const webhooks = { ...describeWebhooks(context, receiving), summary, lastAnswers }
  const orders = describeOrders(context, receiving)
  const app = createApp({ logger, origins: settings.CORS_ORIGINS, webhooks, orders })
  const listener = await listen({
    host: settings.GATEWAY_HOST,
    port: settings.GATEWAY_PORT,
    ...guardFraming({
      handler: timeRequests(app, createRequestTimer(registry)),
      makeRequestId: randomUUID,
      onRefused: (refused) => logRefused(logger, refused),
    }),
    headersTimeoutMs: limits.headersTimeoutMs,
    requestTimeoutMs: limits.requestTimeoutMs,
    maxConnections: settings.MAX_CONNECTIONS,
  })
  const endLate = (): void => {
    webhooks.budget.endLate()
    lastAnswers.endLate()
  }
  const lookForLate = setInterval(endLate, LATE_MS).unref()
  const summarise = setInterval(() => summary.write(), SUMMARY_MS).unref()
  const endTimers = (): void => {
    clearInterval(lookForLate)
    clearInterval(summarise)
    summary.write()
  }
  const stop = async (): Promise<void> => {
    const answerRest = setTimeout(() => lastAnswers.end(), ANSWER_REST_MS)
    await listener.close(CLOSE_MS)
    clearTimeout(answerRest)
    endTimers()
  }
  lifecycle.onStop({ name: 'public listener', withinMs: 4_000, stop })
  return { port: listener.port, webhooks }
}

const CLOSE_MS = 3_500
// This leaves time to answer deliveries that wait for an unresponsive database.
const ANSWER_REST_MS = 2_500

function describeWebhooks(
  context: GatewayContext,
  { inbox, findWanting }: Receiving,
): Omit<WebhookDeps, 'summary' | 'lastAnswers'> {
  const { settings, limits, logger, clock, fetch, providers, metrics } = context
  const windowSeconds = limits.rateWindowSeconds
  return {
    inbox,
    transmissions: createTransmissions({ db: context.mongo.accepting.db, errors: context.databaseErrors }),
    clock,
    isHandled,
    findWanting,
    fetch,
    providers: providers.current,
    logger,
    metrics,
    refusals: context.refusals,
    perProvider: createRateLimit({ name: 'provider', limit: settings.RATE_LIMIT_PROVIDER, windowSeconds, clock }),
    addresses: new AddressLimits({ failures: settings.RATE_LIMIT_FAILED, windowSeconds, clock }),
    trustedProxyHops: settings.TRUSTED_PROXY_HOPS,
    withinMs: limits.answerWithinMs,
    budget: new BodyBudget({ capacity: BODY_BYTES, now: () => performance.now() }),
  }
}

function describeOrders(context: GatewayContext, { recordChange }: Receiving): AppDeps['orders'] {
  const { settings, limits, logger, summaries, clock, metrics, fulfilment } = context
  const limitOf = (name: string, limit: number): RateLimit =>
    createRateLimit({ name, limit, windowSeconds: limits.rateWindowSeconds, clock })
  return {
    fulfilment,
    tokens: settings.API_TOKENS,
    maxBodyBytes: settings.MAX_BODY_BYTES,
    recordChange,
    clock,
    logger,
    limit: limitOf('api', settings.RATE_LIMIT_API),
    failedLogins: createFailedLogins({
      api: 'orders',
      limit: limitOf('failed', settings.RATE_LIMIT_FAILED),
      trustedProxyHops: settings.TRUSTED_PROXY_HOPS,
      ...{ logger, summaries },
      count: metrics.loginFailed,
    }),
  }
}
