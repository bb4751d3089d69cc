import { randomBytes } from 'node:crypto'
import { stripe } from '@oncehook/webhooks/signing/payments/stripe'

/** A delivery as it goes over the wire, made before the measurement starts. */
export interface SignedDelivery {
  readonly eventId: string
  /** The whole HTTP/1.1 request. */
  readonly request: Buffer
}

/** `unique`: every delivery reports a new event. `repeated`: 19 of 20 repeat an event that was sent before. */
export type Mix = 'unique' | 'repeated'

/** Which deliveries to make. */
export interface DeliveryBatch {
  readonly url: string
  readonly secret: string
  readonly count: number
  readonly mix: Mix
  /** Event n pays the order `<orderPrefix><n>`. */
  readonly orderPrefix: string
}

/** The price of every order of a benchmark, and the amount that every event reports as paid. */
export const PRICE = { amount: 4_200, currency: 'EUR' } as const

const FRESH_EVERY = 20
const REPEATS_REACH_BACK = 400
const SIGNATURE_AGES = 250

/** The event that delivery `index` reports. A repetition picks one of the newest 400, including the last one sent. */
export function eventNumberOf(index: number, mix: Mix): number {
  if (mix === 'unique') return index
  const newest = Math.floor(index / FRESH_EVERY)
  if (index % FRESH_EVERY === 0) return newest
  // 7919 is prime, so consecutive picks spread over all of them.
  return newest - ((index * 7_919) % Math.min(REPEATS_REACH_BACK, newest + 1))
}

/**
 * Makes and signs payments of `payment_intent.succeeded` as of `now` (milliseconds): each event has its own id and
 * order, and each delivery its own signature. Repetitions have times up to 250 s earlier, within the window of 300 s.
 */
export function signDeliveries(batch: DeliveryBatch, now: number): SignedDelivery[] {
  const head = requestHead(new URL(batch.url))
  const events = new Map<number, PaymentBody>()
  const times = new Map<number, number>()
  return Array.from({ length: batch.count }, (_, index) => {
    const number = eventNumberOf(index, batch.mix)
    const event = events.get(number) ?? writePayment(`${batch.orderPrefix}${number}`, now)
    const time = times.get(number) ?? 0
    if (batch.mix === 'repeated') {
      events.set(number, event)
      times.set(number, time + 1)
    }
    const signedAt = now - (time % SIGNATURE_AGES) * 1_000
    const request = writeRequest(head, { body: event.body, secret: batch.secret, now: signedAt })
    return { eventId: event.eventId, request }
  })
}

/** A payment as the provider writes it. */
interface PaymentBody {
  readonly eventId: string
  readonly body: Uint8Array
}

function writePayment(orderId: string, now: number): PaymentBody {
  const unique = randomBytes(15).toString('base64url')
  const eventId = `evt_${unique}`
  const event = { id: eventId, type: 'payment.succeeded', paymentId: `pi_${unique}`, orderId, ...PRICE } as const
  return { eventId, body: stripe.writeEvent({ ...event, occurredAt: now }) }
}

/** The whole request for a body, signed with the secret as of `now`. */
export function writeRequest(
  head: string,
  { body, secret, now }: { readonly body: Uint8Array; readonly secret: string; readonly now: number },
): Buffer {
  const lines = stripe.sign({ body, secret, now }).map(([name, value]) => `${name}: ${value}\r\n`)
  const text = `${head}${lines.join('')}content-length: ${body.length}\r\n\r\n`
  return Buffer.concat([Buffer.from(text), body])
}

/** The request line and the headers that all deliveries to an address share. */
export function requestHead({ pathname, host }: URL): string {
  const lines = [
    `POST ${pathname} HTTP/1.1`,
    `host: ${host}`,
    'user-agent: Stripe/1.0 (+https://stripe.com/docs/webhooks)',
    'accept: */*',
    'content-type: application/json; charset=utf-8',
  ]
  return `${lines.join('\r\n')}\r\n`
}
