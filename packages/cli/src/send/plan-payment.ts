import { type PaymentEvent, plainTypes, toSchemeType } from '@oncehook/webhooks/signing/payment-event'
import type { Signer } from '@oncehook/webhooks/signing/signer'
import type { CliContext } from '../cli-context.ts'
import type { SigningIdentity } from '../sign/signing-identity.ts'
import type { Order } from './orders-client.ts'
import type { SendOptions } from './send-options.ts'

/** A payment: its order before the deliveries, and its events. */
export interface PlannedPayment {
  readonly order: Order
  /** Whether this command created the order. */
  readonly created: boolean
  readonly paymentId: string
  readonly events: readonly PaymentEvent[]
}

/** The effect of the events of one payment on an order without other changes. */
export type Effect = 'paid' | 'payment_failed' | 'none'

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
