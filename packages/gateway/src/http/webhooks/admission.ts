import type { IncomingMessage, ServerResponse } from 'node:http'
import { payloadTooLarge } from '@oncehook/kernel/error-codes'
import { refuseEncodedBody, refuseLargeBody } from '@oncehook/kernel/http/body-headers'
import { readRawBody } from '@oncehook/kernel/http/raw-body'
import type { Provider } from '@oncehook/webhooks/providers'
import type { RateLimit } from '../rate-limit.ts'
import type { RequestIds } from '../request-context.ts'
import type { BodyBudget, BodyShare } from './body-budget.ts'
import type { CheckBudget } from './check-budget.ts'
import type { CheckTurns } from './check-turns.ts'
import type { KnownAddresses } from './known-addresses.ts'
import { mayBeSearched } from './searched-bodies.ts'
import { unread } from './unread.ts'

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
  /** Whether it is small enough to be checked without a turn, and has begun. */
  isCheap: boolean
  /** The duration of its check in milliseconds. */
  workMs: number
}

/** The limits that a delivery meets before it is verified. */
export interface AdmissionDeps {
  readonly limits: DeliveryLimits
  readonly budget: BodyBudget
  /** The addresses that have delivered something new and authentic. */
  readonly known: Pick<KnownAddresses, 'add' | 'has'>
  /** The processor time for deliveries that are not authentic. */
  readonly checks: Pick<CheckBudget, 'refusalOf' | 'charge'>
  readonly turns: Pick<CheckTurns, 'next' | 'rest' | 'enter' | 'leave'>
}

/** The limits by count. */
interface DeliveryLimits {
  /** Rejected deliveries per address. */
  readonly failed: RateLimit
  /** Bodies per provider that were read without finding a valid signature, although their address was over its limit. */
  readonly searched: RateLimit
  /** Authentic deliveries per provider. */
  readonly provider: RateLimit
}

// Nearly all authentic deliveries are smaller. Most schemes check this length in a fraction of a millisecond.
const MOST_CHEAP_BYTES = 16_384

/** Whether a body of this length is checked in a moment. */
export function isCheap(bytes: number): boolean {
  return bytes <= MOST_CHEAP_BYTES
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
  refuseExhausted(deps, call)
  const announced = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
  const share = deps.budget.open({ endsAt, address, announced })
  call.share = share
  return readAffordable(deps, call, share)
}

/**
 * Rejects a delivery before its body is read, if its provider is over its limit, or if its address is over its limit and it
 * has no signature. A signed delivery is still checked, so that an authentic one gets its 200 during a flood of forgeries.
 * The exception: it is large or its address is unknown, and no processor time is left for it.
 */
function refuseExhausted(deps: AdmissionDeps, call: WebhookCall): void {
  const { request, provider, address } = call
  const { limits } = deps
  const authentic = limits.provider.peek(provider.name)
  if (authentic.remaining <= 0) throw unread(request, limits.provider.refusal(authentic))
  refuseCostly(deps, call, Number(request.headers['content-length'] ?? 0))
  if (provider.signedHeaders.some((name) => request.headers[name] !== undefined)) return
  if (mayBeSearched(deps, call)) return
  const failed = limits.failed.peek(address)
  if (failed.remaining <= 0) throw unread(request, limits.failed.refusal(failed))
}

/**
 * Rejects a delivery with a body of this length if no processor time is left for it.
 * @throws overloaded
 */
export function refuseCostly(
  { checks }: Pick<AdmissionDeps, 'checks'>,
  { request, address }: WebhookCall,
  bytes: number,
): void {
  const refusal = checks.refusalOf(address, isCheap(bytes))
  if (refusal !== null) throw unread(request, refusal)
}

/** Reads the body. If it has no announced length and its address has no processor time left, only a small one is accepted. */
function readAffordable({ checks }: AdmissionDeps, call: WebhookCall, share: BodyShare): Promise<Buffer> {
  const { request, provider, address } = call
  const isOpen = request.headers['content-length'] === undefined && provider.maxBytes > MOST_CHEAP_BYTES
  const refusal = isOpen ? checks.refusalOf(address, false) : null
  if (refusal === null) return readRawBody(request, provider.maxBytes, share)
  return readRawBody(request, MOST_CHEAP_BYTES, share).catch((error: unknown) => {
    throw payloadTooLarge.is(error) ? unread(request, refusal) : error
  })
}
