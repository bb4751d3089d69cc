import type { WebhookEvent } from '../../event.ts'
import { toId } from '../../events/event-text.ts'
import { readForm } from '../../events/form-body.ts'
import type { FoundEvent } from '../../events/found-event.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import type { JsonObject } from '../../events/json-object.ts'
import { resolvePointer } from '../../events/json-pointer.ts'
import { minorUnits } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { unconfirmedReader } from '../../events/unconfirmed-reader.ts'
import { confirmByApi, OBJECT_UNKNOWN } from '../../provider-api/confirm-by-api.ts'
import { fetchSettings } from '../../provider-api/provider-api.ts'
import { defineScheme, UNSIGNED } from '../scheme.ts'
import { orderOfMollie } from './mollie-metadata.ts'

const TYPES = {
  'payment.paid': 'payment.succeeded',
  'payment.canceled': 'payment.failed',
  'payment.expired': 'payment.failed',
  'order.paid': 'payment.succeeded',
  'order.completed': 'payment.succeeded',
  'order.canceled': 'payment.failed',
  'order.expired': 'payment.failed',
} as const

/** The collection of the API, by the start of an id. */
const KINDS: Readonly<Record<string, { readonly type: string; readonly collection: string }>> = {
  tr: { type: 'payment', collection: 'payments' },
  ord: { type: 'order', collection: 'orders' },
}

/**
 * Mollie's classic webhooks (docs.mollie.com/reference/webhooks): a form with only the id of a payment or an order. Nothing is
 * signed and there is no secret, so the object is read from Mollie (`"fetch"`, such as https://api.mollie.com/v2), and only
 * that answer counts. Every change sends the same id, so each state that was read is one event.
 */
export const mollieClassic = defineScheme(
  'mollie-classic',
  { fetch: fetchSettings },
  {
    signsNothing: true,
    readKey: () => ({ problem: 'is not needed: nothing is signed' }),
    signedHeaders: () => [],
    redelivery: { hours: 26, source: 'reported: about 10 attempts' },
    permits: { ...PAYMENTS, origin: ['/mode', '/profileId'] },
    signsTime: () => false,
    takesForms: true,
    prepare:
      () =>
      ({ rawBody }) => {
        if (rawBody.length > MOST_BYTES) return { refused: 'body_too_large' }
        return idIn(rawBody) === null ? { refused: 'header_malformed' } : { secretId: UNSIGNED }
      },
    prepareReader: unconfirmedReader(({ rawBody }) => {
      const objectId = idIn(rawBody) ?? undefined
      return { id: idOfBytes(rawBody), type: kindOf(objectId ?? '')?.type, objectId }
    }),
    prepareConfirm: confirmByApi({
      types: TYPES,
      questionOf({ objectId = '' }) {
        const collection = kindOf(objectId)?.collection
        return collection === undefined ? OBJECT_UNKNOWN : { path: [collection, objectId], everyMs: ASKED_EVERY_MS }
      },
      find: (object, event) => (toId(object.id) === event.objectId ? findInObject(object, event) : null),
    }),
  },
)

// Every customer knows the id of a payment, and could cause endless questions about it.
const ASKED_EVERY_MS = 1_000

// An id takes a few dozen bytes.
const MOST_BYTES = 4_096
const ID = /^(?:tr|ord)_[A-Za-z0-9.]{1,64}$/

/** The id in a form; null if it is missing, repeated, or not an id that Mollie could have sent. */
function idIn(rawBody: Buffer): string | null {
  try {
    const id = readForm(rawBody).get('id')
    return id !== undefined && ID.test(id) ? id : null
  } catch {
    return null
  }
}

function kindOf(id: string): (typeof KINDS)[string] | undefined {
  const prefix = id.slice(0, id.indexOf('_'))
  return Object.hasOwn(KINDS, prefix) ? KINDS[prefix] : undefined
}

function findInObject(object: JsonObject, { type, objectId }: WebhookEvent): FoundEvent {
  const at = (pointer: string): unknown => resolvePointer(object, pointer)
  const { status, state } = stateOf(object)
  return {
    id: `${objectId}:${state}`,
    type,
    status,
    objectId,
    orderId: orderOfMollie(object.metadata) ?? object.orderNumber,
    amount: minorUnits(at('/amount/value'), at('/amount/currency')),
    currency: at('/amount/currency'),
    occurredAt: object.paidAt,
  }
}

/**
 * The status of the object, until all of its money was returned; and a name of its state, which every refund changes while
 * the status stays `paid`.
 */
function stateOf(object: JsonObject): { readonly status: string; readonly state: string } {
  const amountOf = (member: string): number =>
    minorUnits(resolvePointer(object, `/${member}/value`), resolvePointer(object, `/${member}/currency`)) ?? 0
  const refunded = amountOf('amountRefunded')
  const chargedBack = amountOf('amountChargedBack')
  const state = [
    String(object.status),
    ...(refunded > 0 ? [`refunded-${refunded}`] : []),
    ...(chargedBack > 0 ? [`charged_back-${chargedBack}`] : []),
  ].join(':')
  if (chargedBack > 0) return { status: 'charged_back', state }
  return { status: refunded > 0 && refunded >= amountOf('amount') ? 'refunded' : String(object.status), state }
}
