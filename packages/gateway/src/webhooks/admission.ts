import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AppError } from '@oncehook/kernel/http/errors'
import { readRawBody, refuseEncodedBody, refuseLargeBody } from '@oncehook/kernel/http/server/raw-body'
import type { Provider } from '@oncehook/webhooks/providers'
import type { AddressLimits } from '../http/address-limits.ts'
import type { RateLimit } from '../http/rate-limit.ts'
import type { RequestIds } from '../http/request-context.ts'
import type { BodyBudget, BodyShare } from './body-budget.ts'

/** One delivery on its way through the steps of the webhook handler. Times are values of `performance.now()`. */
export interface WebhookCall {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly provider: Provider
  /** The client address to which the delivery counts. */
  readonly address: string
  readonly ids: RequestIds
  readonly startedAt: number
  /** When the delivery must be answered, whatever it waits for. */
  readonly endsAt: number
  /** Its share of the memory for bodies; undefined before the body is read. */
  share: BodyShare | undefined
  /** Its body; undefined before it is complete. */
  rawBody: Buffer | undefined
  /** The duration of its check in milliseconds. */
  workMs: number
}

/** The time since a delivery began, in milliseconds with one decimal. */
export function elapsed({ startedAt }: WebhookCall): number {
  return Math.round((performance.now() - startedAt) * 10) / 10
}

/** The limits that a delivery meets before it is verified. */
export interface AdmissionDeps {
  /** Authentic deliveries per provider. */
  readonly perProvider: RateLimit
  readonly addresses: AddressLimits
  readonly budget: BodyBudget
}

/**
 * The steps before a delivery is verified, in this order: announced size, content coding, limits, memory, bytes. Resolves to
 * the body. Throws at once if a delivery is rejected before its body is read.
 * @throws payloadTooLarge, unsupportedMediaType, rateLimited, overloaded, requestTimeout, badRequest
 */
export function admit(deps: AdmissionDeps, call: WebhookCall): Promise<Buffer> {
  const { request, provider, address, endsAt } = call
  refuseLargeBody(request, provider.maxBytes)
  refuseEncodedBody(request)
  const announced = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
  refuseExhausted(deps, call, announced)
  const share = deps.budget.open({ endsAt, address, announced })
  call.share = share
  return readRawBody(request, provider.maxBytes, share)
}

/**
 * Rejects a delivery with a body of this length if its provider or its address is over its limit.
 * @throws rateLimited
 */
export function refuseExhausted(
  { perProvider, addresses }: AdmissionDeps,
  { request, provider, address }: WebhookCall,
  bytes: number,
): void {
  const authentic = perProvider.peek(provider.name)
  if (authentic.remaining <= 0) throw unread(request, perProvider.refusal(authentic))
  const isSigned = provider.signsInBody || provider.signedHeaders.some((name) => request.headers[name] !== undefined)
  const refusal = addresses.refusalOf(address, { isSigned, bytes })
  if (refusal !== null) throw unread(request, refusal)
}

const CLOSE = { headers: { Connection: 'close' } }
// Discarding this many bytes costs less than another connection.
const MOST_DISCARDED_BYTES = 65_536

/** Adds that the connection closes, if the unread body is large or has no announced length. */
function unread({ complete, headers: { 'content-length': length } }: IncomingMessage, refusal: AppError): AppError {
  return complete || Number(length ?? Number.NaN) <= MOST_DISCARDED_BYTES ? refusal : refusal.with(CLOSE)
}
