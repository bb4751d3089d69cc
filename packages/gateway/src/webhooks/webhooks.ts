import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { methodNotAllowed, notFound } from '@oncehook/kernel/http/error-codes'
import { sendError } from '@oncehook/kernel/http/server/send-error'
import type { Middleware } from 'koa'
import { signatureInvalid } from '../errors.ts'
import { clientAddress } from '../http/client-address.ts'
import { commonHeaders, type RequestState, requestIdsOf } from '../http/request-context.ts'
import { answerOptions, type Resource, resourceAt } from '../http/resources.ts'
import { type AdmissionDeps, admit, elapsed, refuseExhausted, type WebhookCall } from './admission.ts'
import { CHALLENGE } from './confirm-events.ts'
import type { LastAnswers } from './last-answers.ts'
import type { Providers } from './providers/providers.ts'
import { type Accepted, type ReceiveDeps, receiveWebhook } from './receive-webhook.ts'
import { type RefuseDeps, refuseDelivery } from './refuse-delivery.ts'

export interface WebhookDeps extends ReceiveDeps, AdmissionDeps, RefuseDeps {
  readonly providers: () => Providers
  readonly trustedProxyHops: number
  readonly lastAnswers: Pick<LastAnswers, 'outcomeOf'>
  /** The total time that a delivery may wait, in milliseconds. */
  readonly withinMs: number
}

const PATH = '/api/webhooks/'

/**
 * Creates the handler of `POST /api/webhooks/<provider>`. It returns false if a request is no delivery to a known provider, and
 * then leaves it alone.
 */
export function createWebhooks(deps: WebhookDeps): (request: IncomingMessage, response: ServerResponse) => boolean {
  return (request, response) => {
    const name = request.method === 'POST' ? providerNameOf(request) : null
    const provider = name === null ? undefined : deps.providers().get(name)
    if (provider === undefined) return false
    const startedAt = performance.now()
    void answerDelivery(deps, {
      request,
      response,
      provider,
      address: clientAddress(request, deps.trustedProxyHops),
      ids: requestIdsOf(request),
      startedAt,
      endsAt: startedAt + deps.withinMs,
      share: undefined,
      rawBody: undefined,
      workMs: 0,
    })
    return true
  }
}

/**
 * Creates the middleware that answers the other requests to webhook paths: the GET with which some providers check an
 * endpoint, OPTIONS, unknown providers and other methods. Every other path is passed to the next middleware.
 */
export function createWebhookChecks({ providers, clock }: WebhookDeps): Middleware<RequestState> {
  return async (ctx, next) => {
    const name = providerNameOf(ctx.req)
    if (name === null) return next()
    const provider = providers().get(name)
    const resource = resourceAt(ctx.path)
    if (provider === undefined || resource === undefined) throw notFound()
    const check = ctx.method === 'GET' ? provider.answerCheck?.(ctx.querystring, clock.now()) : null
    if (check) {
      ctx.set('Cache-Control', 'no-store')
      ctx.body = check
      return
    }
    const methods = methodsOf(resource, provider.answerCheck !== undefined)
    if (ctx.method !== 'OPTIONS') throw methodNotAllowed({}, { headers: { Allow: methods.join(', ') } })
    answerOptions(ctx, { ...resource, methods })
  }
}

function methodsOf({ methods, takenBySome = [] }: Resource, isChecked: boolean): Resource['methods'] {
  return isChecked ? [...takenBySome, ...methods] : methods
}

/** The provider name in a webhook path, whether the provider is known or not; null for every other path. */
function providerNameOf({ url = '' }: IncomingMessage): string | null {
  if (!url.startsWith(PATH)) return null
  const query = url.indexOf('?')
  return url.slice(PATH.length, query === -1 ? undefined : query)
}

/** The steps of a delivery, in this order. Never throws: every error becomes an answer. */
async function answerDelivery(deps: WebhookDeps, call: WebhookCall): Promise<void> {
  try {
    call.rawBody = await admit(deps, call)
    call.share?.complete()
    // Other deliveries may have used up the processor time while the body arrived.
    refuseExhausted(deps, call, call.rawBody.length)
    const accepted = await verifyAndStore(deps, call, call.rawBody)
    refuseItems(deps, call, accepted)
    // The database confirms new events together, but repetitions are found one by one. Answers that are written in one turn
    // of the event loop wake their reader once, not each time.
    if (isRepetition(accepted)) await endOfTurn()
    sendAccepted(deps, call, accepted)
    logAccepted(deps, call, accepted)
  } catch (thrown) {
    const error = refuseDelivery(deps, call, thrown)
    await sendError(call.response, error, { requestId: call.ids.requestId })
  } finally {
    call.share?.release()
  }
}

/**
 * Answers 401 if some items of a delivery are not authentic, after the others were stored: the provider sends it again, until
 * somebody has put the missing secret right, and what is stored is a repetition by then.
 * @throws signatureInvalid
 */
function refuseItems(deps: WebhookDeps, call: WebhookCall, accepted: Accepted): void {
  if (!('events' in accepted) || accepted.refusedItems === undefined) return
  logAccepted(deps, call, accepted)
  const items = accepted.refusedItems.join(', ')
  throw signatureInvalid({ reason: 'signature_mismatch', items }, CHALLENGE)
}

/** Verifies a delivery and stores its events. Most checks run before this returns. */
function verifyAndStore(deps: WebhookDeps, call: WebhookCall, rawBody: Buffer): Promise<Accepted> {
  const { request, provider, address, ids, endsAt } = call
  // Checks that wait report what they do after it.
  const timed = <Result>(work: () => Result): Result => {
    const startedAt = performance.now()
    const result = work()
    call.workMs += performance.now() - startedAt
    return result
  }
  const delivery = { rawBody, rawHeaders: request.rawHeaders, query: queryOf(request), from: address, timed }
  const askFor = <T>(ask: () => Promise<T>): Promise<T> => deps.addresses.asking(address, ask)
  const received = { provider, delivery, requestId: ids.requestId, endsAt, askFor }
  return deps.lastAnswers.outcomeOf(
    timed(() => receiveWebhook(deps, received)),
    call,
  )
}

function queryOf({ url = '' }: IncomingMessage): string {
  const at = url.indexOf('?')
  return at === -1 ? '' : url.slice(at + 1)
}

function isRepetition(accepted: Accepted): boolean {
  return 'events' in accepted && accepted.events.every(({ outcome }) => outcome === 'duplicate')
}

const CONTENT_TYPE = 'application/json; charset=utf-8'
const RECEIVED = '{"received":true}'

/** Counts the delivery towards the limit of its provider, and answers it. */
function sendAccepted(
  { perProvider }: WebhookDeps,
  { response, provider, ids }: WebhookCall,
  accepted: Accepted,
): void {
  const headers = { ...commonHeaders(ids.requestId), ...perProvider.headers(perProvider.count(provider.name)) }
  const handshake = 'handshake' in accepted ? accepted.handshake : null
  if (handshake !== null && 'empty' in handshake) {
    response.writeHead(204, headers).end()
    return
  }
  const body = handshake === null ? RECEIVED : JSON.stringify(handshake.json)
  response.writeHead(200, { ...headers, 'Content-Type': CONTENT_TYPE, 'Content-Length': Buffer.byteLength(body) })
  response.end(body)
}

/** Counts an accepted delivery, and logs one line for each of its events. */
function logAccepted({ logger, metrics }: WebhookDeps, call: WebhookCall, accepted: Accepted): void {
  const { ids } = call
  const { name: provider } = call.provider
  metrics.matched(provider, accepted.secretId)
  if ('handshake' in accepted) {
    metrics.delivered(provider, 'handshake')
    logger.info({ ...ids, provider, ms: elapsed(call) }, 'webhook.handshake')
    return
  }
  for (const { event, outcome } of accepted.events) {
    metrics.delivered(provider, outcome)
    const names = { eventId: event.id.slice(0, 64), type: event.type.slice(0, 64) }
    const line = { ...ids, provider, ...names, ms: elapsed(call) }
    const reason = outcome === 'unhandled' ? event.facts.withheld : undefined
    if (reason !== undefined) {
      metrics.withheld(provider, reason)
      logger.warn({ ...line, reason }, 'event.withheld')
    } else logger.info(line, outcome === 'unhandled' ? 'event.unhandled' : `webhook.${outcome}`)
  }
}
