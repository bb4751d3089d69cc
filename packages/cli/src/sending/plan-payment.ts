import { type PaymentEvent, plainTypes, toSchemeType } from '@oncehook/simulator/payment-event'
import type { Signer } from '@oncehook/simulator/signers/signer'
import type { CliContext } from '../cli-context.ts'
import type { Order } from '../orders-client.ts'
import type { SigningIdentity } from '../signing-identity.ts'
import type { SendOptions } from './send-options.ts'

/** One payment: the order it is for as it was before, and what is going to be told of it. */
export interface PlannedPayment {
  readonly order: Order
  /** Whether the order was made for this. */
  readonly created: boolean
  readonly paymentId: string
  readonly events: readonly PaymentEvent[]
}

/** What a list of events about one payment makes of an order that nothing else has touched. */
export type Effect = 'paid' | 'payment_failed' | 'none'

const shortTypes = new Map([
  ['succeeded', plainTypes.succeeded],
  ['failed', plainTypes.failed],
])

/** The types to tell of, in full. */
export function readTypes({ type = 'succeeded', sequence = [type] }: SendOptions): string[] {
  return sequence.map((each) => shortTypes.get(each) ?? each)
}

/**
 * A success outdoes a failure whatever comes first, and no other type does anything; nor does any of a scheme that knows
 * no payments while the gateway's settings do not say what its types mean.
 */
export function toEffect(types: readonly string[], { signer, settings }: Sender): Effect {
  const names = types.map((type) => toSchemeType(signer.types, type)).filter((name) => isMapped(name, signer, settings))
  if (names.includes(signer.types.succeeded)) return 'paid'
  return names.includes(signer.types.failed) ? 'payment_failed' : 'none'
}

type Sender = Pick<SigningIdentity, 'signer' | 'settings'>

/** Settings that come from nowhere but the options say nothing of what the gateway has. */
function isMapped(name: string, { mapping }: Signer, settings: SigningIdentity['settings']): boolean {
  if (mapping === undefined || settings.scheme === undefined) return true
  if (mapping.orderReference !== undefined && settings.orderReference === undefined) return false
  const { events } = settings
  return mapping.events === undefined || (typeof events === 'object' && events !== null && Object.hasOwn(events, name))
}

/**
 * What is to be told about one order. The same order and the same event id given give the same events, byte for byte: the
 * time in them is then that of the order.
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
