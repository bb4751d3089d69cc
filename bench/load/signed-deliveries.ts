import { randomBytes } from 'node:crypto'
import { stripe } from '@oncehook/simulator/signers/stripe'

/** A delivery as it goes over the wire, made before the clock runs. */
export interface SignedDelivery {
  readonly eventId: string
  /** The whole HTTP/1.1 request. */
  readonly request: Buffer
}

/** Which deliveries are to be made. */
export interface DeliveryBatch {
  readonly url: string
  readonly secret: string
  readonly count: number
  /** Delivery n pays the order `<orderPrefix><n>`. */
  readonly orderPrefix: string
}

/** What every order of a benchmark costs, and every event says was paid. */
export const PRICE = { amount: 4_200, currency: 'EUR' } as const

/** Makes and signs payments of `payment_intent.succeeded` as of `now` (milliseconds): each with an id, an order and a signature of its own. */
export function signDeliveries(batch: DeliveryBatch, now: number): SignedDelivery[] {
  const head = requestHead(new URL(batch.url))
  return Array.from({ length: batch.count }, (_, index) => signDelivery(batch, { index, now, head }))
}

interface Making {
  readonly index: number
  readonly now: number
  readonly head: string
}

function signDelivery({ secret, orderPrefix }: DeliveryBatch, { index, now, head }: Making): SignedDelivery {
  const unique = randomBytes(15).toString('base64url')
  const eventId = `evt_${unique}`
  const orderId = `${orderPrefix}${index}`
  const event = {
    id: eventId,
    type: 'payment.succeeded',
    paymentId: `pi_${unique}`,
    orderId,
    ...PRICE,
    occurredAt: now,
  }
  const body = stripe.writeEvent(event)
  const lines = stripe.sign({ body, secret, now }).map(([name, value]) => `${name}: ${value}\r\n`)
  const text = `${head}${lines.join('')}content-length: ${body.length}\r\n\r\n`
  return { eventId, request: Buffer.concat([Buffer.from(text), body]) }
}

function requestHead({ pathname, host }: URL): string {
  const lines = [
    `POST ${pathname} HTTP/1.1`,
    `host: ${host}`,
    'user-agent: Stripe/1.0 (+https://stripe.com/docs/webhooks)',
    'accept: */*',
    'content-type: application/json; charset=utf-8',
  ]
  return `${lines.join('\r\n')}\r\n`
}
