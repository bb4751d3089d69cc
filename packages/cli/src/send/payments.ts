// The payments of one `oncehook send`: planned as an event for each order, delivered as the provider would, and watched until
// each order shows its effect.

import { startObjectApi } from '@oncehook/simulator/object-api'
import { createPaymentProvider, type DeliveryReport } from '@oncehook/simulator/payment-provider'
import { type PaymentEvent, plainTypes, toSchemeType } from '@oncehook/webhooks/signing/payment-event'
import type { Signer } from '@oncehook/webhooks/signing/signer'
import { type CliContext, CommandFailure } from '../command.ts'
import type { SigningIdentity } from '../sign/signing-identity.ts'
import { mapConcurrently, type Order, type PreparedOrder, type WatchDeps, watchOrder } from './orders.ts'
import type { SendOptions } from './send-options.ts'

/** A payment: its order before the deliveries, and its event. */
export interface PlannedPayment extends PreparedOrder {
  readonly paymentId: string
  readonly event: PaymentEvent
}

/** The effect of an event on an order without other changes. */
type Effect = 'paid' | 'payment_failed' | 'none'

/** A payment with the last seen state of its order. */
export interface PaymentOutcome extends PlannedPayment {
  readonly after: Order
  /** Whether the order reached the expected state. */
  readonly seen: boolean
}

export interface SendRun {
  readonly provider: string
  readonly scheme: string
  readonly url: string
  readonly timeoutSeconds: number
  readonly effect: Effect
  readonly deliveries: readonly DeliveryReport[]
  readonly payments: readonly PaymentOutcome[]
}

const shortTypes = new Map([
  ['succeeded', plainTypes.succeeded],
  ['failed', plainTypes.failed],
])

/** For a scheme without payments, a type has an effect only if the gateway's settings map it. */
export function toEffect(type: string, { signer, settings }: Sender): Effect {
  const name = toSchemeType(signer.types, shortTypes.get(type) ?? type)
  if (!isMapped(name, signer, settings)) return 'none'
  if (name === signer.types.succeeded) return 'paid'
  return name === signer.types.failed ? 'payment_failed' : 'none'
}

type Sender = Pick<SigningIdentity, 'signer' | 'settings'>

/** Without local settings, the mapping of the gateway is unknown, so the type counts as mapped. */
function isMapped(name: string, { mapping }: Signer, settings: SigningIdentity['settings']): boolean {
  if (mapping === undefined || settings.scheme === undefined) return true
  if (mapping.read !== undefined && settings.read === undefined) return false
  return !hasName(mapping.events, name) || hasName(settings.events, name)
}

function hasName(events: unknown, name: string): boolean {
  return typeof events === 'object' && events !== null && Object.hasOwn(events, name)
}

/**
 * The event for one order. The same order and event id give the same event, byte for byte: with an event id, it contains the
 * time of the order.
 */
export function planPayment(
  { order, created }: PreparedOrder,
  { type, amount = order.amountDue, eventId }: Pick<SendOptions, 'type' | 'amount' | 'eventId'>,
  { randomId, now, signer }: Pick<CliContext, 'randomId' | 'now'> & Pick<Sender, 'signer'>,
): PlannedPayment {
  const id = eventId ?? `evt_${randomId()}`
  const named = `pay_${id.replace(/^evt_/, '')}`
  const paymentId = signer.paymentIdOf?.({ paymentId: named, orderId: order.id }) ?? named
  const event = {
    ...{ id, type: shortTypes.get(type) ?? type, paymentId, orderId: order.id, amount, currency: order.currency },
    occurredAt: eventId === undefined ? now() : Date.parse(order.createdAt),
  }
  return { order, created, paymentId, event }
}

/**
 * Delivers the event of every payment, with the repetitions and the pace of the options. Repetitions follow the whole list,
 * like the retries of a real provider.
 * @throws SigningError if signing fails
 */
export async function deliverPayments(
  payments: readonly PlannedPayment[],
  { url, signer, secret, settings }: Pick<SigningIdentity, 'signer' | 'secret' | 'settings'> & { readonly url: string },
  { times, parallel, rate }: SendOptions,
  { fetch, now, sleep }: CliContext,
): Promise<DeliveryReport[]> {
  const provider = createPaymentProvider({ fetch, now, sleep }, { url, signer, secret, settings })
  const once = payments.map(({ event }) => provider.write(event))
  const messages = Array.from({ length: times }, () => once).flat()
  // A rate does not depend on the response times.
  const pace = rate === undefined ? { parallel } : { parallel: Math.max(parallel, MOST_AT_A_RATE), perSecond: rate }
  return provider.deliverAll(messages, pace)
}

const MOST_AT_A_RATE = 256
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|localhost)$/

/**
 * Runs a fake provider API until disposal, if the gateway has to query the provider, and its setting points to this machine.
 * For another host, prints which host the gateway queries.
 * @throws CommandFailure if the port is in use
 */
export async function offerObjects(
  { signer, settings }: SigningIdentity,
  payments: readonly PlannedPayment[],
  { warn }: Pick<CliContext, 'warn'>,
): Promise<AsyncDisposable | null> {
  const asked = fetchSettingsOf(settings)
  if (signer.describeObject === undefined || asked === null) return null
  const { url, token } = asked
  if (!LOOPBACK.test(url.hostname) || url.protocol !== 'http:') {
    warn(`The gateway will query ${url.origin}, which must know the payment\n`)
    return null
  }
  const place = { port: Number(url.port || 80), basePath: url.pathname.replace(/\/+$/, ''), token }
  const api = await startObjectApi(place).catch((error: unknown) => {
    const summary = `Cannot start the fake provider API at ${url.origin}: the port is in use or not permitted`
    throw new CommandFailure(summary, { cause: error })
  })
  for (const { event } of payments) api.add(signer.describeObject(event))
  return api
}

function fetchSettingsOf({ fetch }: SigningIdentity['settings']): { url: URL; token: string } | null {
  if (typeof fetch !== 'object' || fetch === null || !('baseUrl' in fetch) || !('token' in fetch)) return null
  const url = URL.parse(String(fetch.baseUrl))
  return url === null ? null : { url, token: String(fetch.token) }
}

const parallelReads = 8
/** The time in which an order that should not change could still change. Most effects take a tenth of it. */
const quietMs = 500

/**
 * Waits until every order shows the effect of its accepted deliveries. If no change is expected, it waits a moment before it
 * reads the orders, so that it notices an unexpected change.
 * @throws OrdersApiFailure if the API refuses, or still fails at the deadline
 */
export async function watchPayments(
  deps: WatchDeps,
  payments: readonly PlannedPayment[],
  { deliveries, effect, timeoutSeconds }: Pick<SendRun, 'deliveries' | 'effect' | 'timeoutSeconds'>,
): Promise<PaymentOutcome[]> {
  const accepted = new Set(deliveries.filter(({ status }) => status === 200).map(({ eventId }) => eventId))
  const watched = payments.map((payment) => ({
    payment,
    until: toExpectation(payment, accepted.has(payment.event.id) ? effect : 'none'),
  }))
  const deadline = deps.now() + timeoutSeconds * 1_000
  if (watched.some(({ payment, until }) => until(payment.order))) await deps.sleep(quietMs)
  return mapConcurrently(watched, parallelReads, async ({ payment, until }) => {
    const after = await watchOrder(deps, payment.order.id, { until, deadline })
    return { ...payment, after, seen: until(after) }
  })
}

/** Checks whether an order shows the expected effect. A paid order never changes. */
function toExpectation({ order: before, paymentId }: PlannedPayment, effect: Effect): (now: Order) => boolean {
  if (effect === 'none') return (now) => now.version === before.version
  if (before.status === 'paid') return (now) => now.status === 'paid' && now.payment?.id === before.payment?.id
  if (effect === 'paid') return (now) => now.status === 'paid' && now.payment?.id === paymentId
  return (now) => now.status === 'payment_failed'
}
