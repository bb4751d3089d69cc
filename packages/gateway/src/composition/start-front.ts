import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { guardFraming } from '@oncehook/kernel/http/framing-guard'
import { listen } from '@oncehook/kernel/http/listen'
import { logRefused } from '@oncehook/kernel/http/log-refused'
import { isHandled } from '../dispatch/handlers.ts'
import { answerWithin } from '../http/answer-deadline.ts'
import { BodyBudget } from '../http/body-budget.ts'
import { createRateLimit, type RateLimit } from '../http/rate-limit.ts'
import { timeRequests } from '../http/time-requests.ts'
import { answerDeliveriesFirst, type WebhookRouteDeps } from '../http/webhook-route.ts'
import type { Inbox } from '../inbox/inbox.ts'
import { createRequestTimer } from '../metrics.ts'
import type { Foundation } from './gateway-parts.ts'

// With what the rest of the process takes, the gateway stays below 256 MiB.
const BODY_BYTES = 16 * 1024 * 1024
const LATE_BODIES_MS = 100

/** A public listener that is open. */
export interface Front {
  readonly port: number
  /** What the deliveries are answered with. */
  readonly webhooks: WebhookRouteDeps
  /** Hands everything but deliveries to an application; what has come before waits for it. */
  serve(application: RequestListener): void
}

/** Opens the public listener: from then on deliveries are taken. */
export async function startFront(foundation: Foundation, inbox: Inbox): Promise<Front> {
  const { settings, registry, lifecycle } = foundation
  const webhooks = describeWebhooks(foundation, inbox)
  const { promise: served, resolve: serve } = Promise.withResolvers<RequestListener>()
  let application: RequestListener = (request, response) => void served.then((serving) => serving(request, response))
  const front = answerDeliveriesFirst(webhooks, (request, response) => application(request, response))
  const listener = await listen({
    host: settings.GATEWAY_HOST,
    port: settings.GATEWAY_PORT,
    ...guardFraming({
      handler: timeRequests(front, createRequestTimer(registry)),
      makeRequestId: randomUUID,
      onRefused: (refused) => logRefused(foundation.logger, refused),
    }),
    headersTimeoutMs: settings.HEADERS_TIMEOUT_MS,
    requestTimeoutMs: settings.REQUEST_TIMEOUT_MS,
    maxConnections: settings.MAX_CONNECTIONS,
  })
  const lookForLate = setInterval(() => webhooks.budget.endLate(), LATE_BODIES_MS).unref()
  lifecycle.onStop({
    name: 'public listener',
    withinMs: 4_000,
    stop: () => listener.close(3_500).finally(() => clearInterval(lookForLate)),
  })
  return {
    port: listener.port,
    webhooks,
    serve(serving) {
      application = serving
      serve(serving)
    },
  }
}

// Enough for the authentic deliveries behind a flood, and a bound to what the flood may cost.
const SEARCHED_PER_FAILED = 10

function describeWebhooks(foundation: Foundation, inbox: Inbox): WebhookRouteDeps {
  const { settings, logger, clock, fetch, providers, metrics } = foundation
  const limitOf = (name: string, limit: number): RateLimit =>
    createRateLimit({ name, limit, windowSeconds: settings.RATE_LIMIT_WINDOW_SECONDS, clock })
  return {
    inbox,
    clock,
    isHandled,
    fetch,
    providers: providers.current,
    logger,
    metrics,
    limits: {
      failed: limitOf('failed', settings.RATE_LIMIT_FAILED),
      searched: limitOf('searched', settings.RATE_LIMIT_FAILED * SEARCHED_PER_FAILED),
      provider: limitOf('provider', settings.RATE_LIMIT_PROVIDER),
    },
    trustedProxyHops: settings.TRUSTED_PROXY_HOPS,
    withinMs: answerWithin(settings.REQUEST_TIMEOUT_MS),
    budget: new BodyBudget({ capacity: BODY_BYTES, now: () => performance.now() }),
  }
}
