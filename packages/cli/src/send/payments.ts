// The payments of one `oncehook send`: planned as events for each order, delivered as the provider would, and watched until each
// order shows its effect.

import { type ObjectApi, startObjectApi } from '@oncehook/simulator/object-api'
import {
  createPaymentProvider,
  type DeliveryReport,
  type Message,
  type Pace,
  type PaymentProvider,
} from '@oncehook/simulator/payment-provider'
import { arrange, toBatches } from '@oncehook/simulator/schedule'
import type { TamperedPart } from '@oncehook/simulator/tampering'
import { type PaymentEvent, plainTypes, toSchemeType } from '@oncehook/webhooks/signing/payment-event'
import type { Signer } from '@oncehook/webhooks/signing/signer'
import { type CliContext, CommandFailure } from '../command.ts'
import type { SigningIdentity } from '../sign/signing-identity.ts'
import { mapConcurrently, type Order, type WatchDeps, watchOrder } from './orders.ts'
import { maxParallel, type SendOptions } from './send-options.ts'

/** A payment: its order before the deliveries, and its events. */
export interface PlannedPayment {
  readonly order: Order
  /** Whether this command created the order. */
  readonly created: boolean
  readonly paymentId: string
  readonly events: readonly PaymentEvent[]
}

/** The effect of the events of one payment on an order without other changes. */
type Effect = 'paid' | 'payment_failed' | 'none'

/** A delivery with its events and its response. */
export interface Delivered extends DeliveryReport {
  readonly events: readonly Pick<PaymentEvent, 'id' | 'type' | 'orderId'>[]
}

/** A payment with the last seen state of its order. */
export interface PaymentOutcome extends PlannedPayment {
  readonly after: Order
  /** Whether the order reached the expected state. */
  readonly seen: boolean
  /** From the start of the first delivery to the last read of the order. */
  readonly ms: number
}

/** All results of one `oncehook send`. */
export interface SendRun {
  readonly provider: string
  readonly scheme: string
  /** The URL of the deliveries. */
  readonly url: string
  /** The requested number of events in each delivery. */
  readonly batch: number
  readonly tampered: TamperedPart | undefined
  readonly timeoutSeconds: number
  readonly effect: Effect
  readonly deliveries: readonly Delivered[]
  readonly payments: readonly PaymentOutcome[]
}

const shortTypes = new Map([
  ['succeeded', plainTypes.succeeded],
  ['failed', plainTypes.failed],
])

/** The full event types. */
export function readTypes({ type = 'succeeded', sequence = [type] }: SendOptions): string[] {
  return sequence.map((each) => shortTypes.get(each) ?? each)
}

/**
 * A success overrides a failure in any order; other types have no effect. For a scheme without payments, types have an effect
 * only if the gateway's settings map them.
 */
export function toEffect(types: readonly string[], { signer, settings }: Sender): Effect {
  const names = types.map((type) => toSchemeType(signer.types, type)).filter((name) => isMapped(name, signer, settings))
  if (names.includes(signer.types.succeeded)) return 'paid'
  return names.includes(signer.types.failed) ? 'payment_failed' : 'none'
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
 * The events for one order. The same order and event id give the same events, byte for byte: with an event id, they contain
 * the time of the order.
 */
export function planPayment(
  { order, created }: { order: Order; created: boolean },
  options: SendOptions,
  { randomId, now, signer }: Pick<CliContext, 'randomId' | 'now'> & Pick<Sender, 'signer'>,
): PlannedPayment {
  const types = readTypes(options)
  const eventId = options.eventId ?? `evt_${randomId()}`
  const named = options.paymentId ?? `pay_${eventId.replace(/^evt_/, '')}`
  const paymentId = signer.paymentIdOf?.({ paymentId: named, orderId: order.id }) ?? named
  const events = types.map((type, index) => ({
    id: types.length === 1 ? eventId : `${eventId}_${index + 1}`,
    type,
    paymentId,
    orderId: order.id,
    amount: options.amount ?? order.amountDue,
    currency: options.currency ?? order.currency,
    occurredAt: options.eventId === undefined ? now() : Date.parse(order.createdAt),
  }))
  return { order, created, paymentId, events }
}

/**
 * Delivers every event of every payment, with the repetitions, order and pace of the options.
 * @throws SigningError if signing fails
 */
export async function deliverPayments(
  payments: readonly PlannedPayment[],
  { url, signer, secret, settings }: Pick<SigningIdentity, 'signer' | 'secret' | 'settings'> & { readonly url: string },
  options: SendOptions,
  { fetch, now, sleep, random }: CliContext,
): Promise<Delivered[]> {
  const provider = createPaymentProvider(
    { fetch, now, sleep },
    { url, signer, secret, settings, skewMs: options.skew * 1000 },
  )
  const arriving = arrange(writeDeliveries(provider, payments, options), {
    times: options.times,
    arrival: options.orderOfArrival,
    random,
  })
  const messages = arriving.map(({ message }) => message)
  const reports = await provider.deliverAll(messages, toPace(options), options.tamper)
  return arriving.flatMap(({ events }, index) => {
    const report = reports[index]
    return report ? [{ ...report, events }] : []
  })
}

function writeDeliveries(
  provider: PaymentProvider,
  payments: readonly PlannedPayment[],
  { batch }: SendOptions,
): { readonly events: readonly PaymentEvent[]; readonly message: Message }[] {
  const all = payments.flatMap(({ events }) => events)
  if (batch === 1) return all.map((event) => ({ events: [event], message: provider.write(event) }))
  return toBatches(all, batch).map((events) => ({ events, message: provider.writeBatch(events) }))
}

/** A rate does not depend on the response times, so it allows the maximum number of concurrent deliveries. */
function toPace({ parallel, rate }: SendOptions): Pace {
  if (rate === undefined) return { parallel: parallel === true ? maxParallel : (parallel ?? 1) }
  return { parallel: typeof parallel === 'number' ? parallel : maxParallel, perSecond: rate }
}

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|localhost)$/

/**
 * Runs a fake provider API until disposal, if the gateway has to query the provider, and its setting points to this machine.
 * For several events about one payment, the API knows the last one. For another host, prints which host the gateway queries.
 * @throws CommandFailure if the port is in use
 */
export async function offerObjects(
  { signer, settings }: SigningIdentity,
  payments: readonly PlannedPayment[],
  { warn }: Pick<CliContext, 'warn'>,
): Promise<AsyncDisposable> {
  const asked = fetchSettingsOf(settings)
  const nothing = { [Symbol.asyncDispose]: () => Promise.resolve() }
  if (signer.describeObject === undefined || asked === null) return nothing
  const { url, token } = asked
  if (!LOOPBACK.test(url.hostname) || url.protocol !== 'http:') {
    warn(`The gateway will query ${url.origin}, which must know the payment\n`)
    return nothing
  }
  const api = await start(url, token)
  for (const { events } of payments) {
    for (const event of events) api.add(signer.describeObject(event))
  }
  return api
}

function fetchSettingsOf({ fetch }: SigningIdentity['settings']): { url: URL; token: string } | null {
  if (typeof fetch !== 'object' || fetch === null || !('baseUrl' in fetch) || !('token' in fetch)) return null
  const url = URL.parse(String(fetch.baseUrl))
  return url === null ? null : { url, token: String(fetch.token) }
}

async function start({ port, pathname, origin }: URL, token: string): Promise<ObjectApi> {
  try {
    return await startObjectApi({ port: Number(port || 80), basePath: pathname.replace(/\/+$/, ''), token })
  } catch (error) {
    const summary = `Cannot start the fake provider API at ${origin}: the port is in use or not permitted`
    throw new CommandFailure(summary, { cause: error })
  }
}

/** The deliveries, and the timeout for their effect. */
interface DeliveredPayments {
  readonly identity: Pick<SigningIdentity, 'signer' | 'settings'>
  readonly payments: readonly PlannedPayment[]
  readonly deliveries: readonly Delivered[]
  /** When the first delivery began, in milliseconds since 1970. */
  readonly begun: number
  readonly timeoutMs: number
}

const parallelReads = 8
/** The time in which an order that should not change could still change. Most effects take a tenth of it. */
const quietMs = 500

/**
 * Waits until every order shows the effect of its accepted deliveries. If no change is expected, it waits a moment before it
 * reads the orders, so that it notices an unexpected change.
 * @throws OrdersApiFailure if the API refuses, or still fails at the deadline
 */
export async function watchPayments(deps: WatchDeps, delivered: DeliveredPayments): Promise<PaymentOutcome[]> {
  const { payments, begun, timeoutMs } = delivered
  const accepted = delivered.deliveries.filter(isAccepted).flatMap(({ events }) => events)
  const typesOfOrder = Map.groupBy(accepted, ({ orderId }) => orderId)
  const watched = payments.map((payment) => {
    const types = (typesOfOrder.get(payment.order.id) ?? []).map(({ type }) => type)
    return { payment, until: toExpectation(payment, toEffect(types, delivered.identity)) }
  })
  const deadline = deps.now() + timeoutMs
  if (watched.some(({ payment, until }) => until(payment.order))) await deps.sleep(Math.min(quietMs, timeoutMs))
  return mapConcurrently(watched, parallelReads, async ({ payment, until }) => {
    const after = await watchOrder(deps, payment.order.id, { until, deadline })
    return { ...payment, after, seen: until(after), ms: deps.now() - begun }
  })
}

/** The number of events in the deliveries. An event that was delivered twice counts twice. */
export function countEvents(deliveries: readonly Delivered[]): number {
  return deliveries.reduce((sum, { events }) => sum + events.length, 0)
}

/** Whether the gateway accepted a delivery. */
export function isAccepted({ status }: DeliveryReport): boolean {
  return status === 200
}

/** Whether another payment already paid the order. */
export function isPaidByAnother({ order, paymentId }: PlannedPayment): boolean {
  return order.status === 'paid' && order.payment?.id !== paymentId
}

/** Checks whether an order shows the expected effect. A paid order never changes. */
function toExpectation({ order: before, paymentId }: PlannedPayment, effect: Effect): (now: Order) => boolean {
  if (effect === 'none') return (now) => now.version === before.version
  if (before.status === 'paid') return (now) => now.status === 'paid' && now.payment?.id === before.payment?.id
  if (effect === 'paid') return (now) => now.status === 'paid' && now.payment?.id === paymentId
  return (now) => now.status === 'payment_failed'
}
