import type { PaymentEventType, Provider } from '@oncehook/webhooks/providers'
import { type SignedDelivery, SigningError, signDelivery } from '@oncehook/webhooks/signing/signer'
import { signers } from '@oncehook/webhooks/signing/signers'
import { signatureInvalid, testEventNotSignable } from '../../errors.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import type { Inbox } from '../../inbox/inbox.ts'
import type { SigningSource } from '../../webhooks/providers/providers.ts'
import { type ReceiveDeps, receiveWebhook } from '../../webhooks/receive-webhook.ts'

interface TestEvent {
  readonly provider: Provider
  readonly type: PaymentEventType
  /** Default: an order that does not exist. The event then has no effect. */
  readonly orderId?: string | undefined
  /** Minor units. */
  readonly amount: number
  /** ISO 4217. */
  readonly currency: string
  readonly requestId: string
}

export type TestEvents = ReturnType<typeof createTestEvents>

/** Where test events are stored. Both mark their records. */
export interface TestInboxes {
  readonly withoutEffect: Inbox
  /** Null unless `TEST_EVENTS` is `apply`. */
  readonly withEffects: Inbox | null
}

interface TestEventsDeps {
  readonly limit: RateLimit
  readonly receiving: Omit<ReceiveDeps, 'inbox'>
  readonly inboxes: TestInboxes
  readonly readSigning: (provider: string) => SigningSource | null
  readonly randomBytes: (length: number) => Buffer
}

const WITHIN_MS = 10_000
// 128 bits: no real event has the id of a test event, so none is mistaken for its redelivery.
const ID_BYTES = 16

export function createTestEvents(deps: TestEventsDeps) {
  const { withEffects, withoutEffect } = deps.inboxes
  return {
    /** How many each operator may send. */
    limit: deps.limit,
    /** Whether a test event about an order has the effects of a real one. */
    haveEffects: withEffects !== null,
    /**
     * Signs an event as its provider does, and receives it like a delivery, except that its record is marked. Resolves to the
     * id of the event when it is stored.
     * @throws testEventNotSignable, notStored
     */
    async send(event: TestEvent): Promise<string> {
      // Without its order, an event with effects would wait for it.
      const effective = event.orderId === undefined ? null : withEffects
      const { unsigned, headers, body, query, contentType } = signTestEvent(deps, event)
      const inbox = effective ?? storeUnsigned(withoutEffect, unsigned)
      const lines = [['content-type', contentType], ['user-agent', 'oncehook-test'], ...headers]
      try {
        const accepted = await receiveWebhook(
          { ...deps.receiving, inbox },
          {
            provider: event.provider,
            delivery: { rawBody: Buffer.from(body), rawHeaders: lines.flat(), query },
            requestId: event.requestId,
            endsAt: performance.now() + WITHIN_MS,
            askFor: () => Promise.reject(testEventNotSignable({ reason: 'confirmed_by_provider' })),
          },
        )
        const [stored] = 'events' in accepted ? accepted.events : []
        if (stored === undefined) throw testEventNotSignable({ reason: 'no_event' })
        return stored.event.id
      } catch (error) {
        throw signatureInvalid.is(error) ? testEventNotSignable({ ...error.details }) : error
      }
    },
  }
}

/** Stores the body as it was before it was signed. Where the signature is a part of it, nobody can deliver what is stored. */
function storeUnsigned(inbox: Inbox, unsigned: Uint8Array): ReceiveDeps['inbox'] {
  const rawBody = Buffer.from(unsigned)
  return {
    record: (arrival) => inbox.record({ ...arrival, rawBody }),
    recordBatch: (batch) => inbox.recordBatch({ ...batch, evidence: { ...batch.evidence, rawBody } }),
  }
}

/** The id is signed, so a copy of the delivery is always the same event, which has no effect. `unsigned` is the body before. */
function signTestEvent(
  { receiving, readSigning, randomBytes }: TestEventsDeps,
  event: TestEvent,
): SignedDelivery & { readonly unsigned: Uint8Array } {
  const { provider, type, amount, currency } = event
  const signer = signers.get(provider.scheme)
  const signing = isSignable(provider) ? readSigning(provider.name) : null
  if (signer === undefined || signing === null) throw testEventNotSignable({ reason: 'no_key' })
  const now = receiving.clock.now()
  const id = `test_${randomBytes(ID_BYTES).toString('hex')}`
  const orderId = event.orderId ?? `${id}_order`
  const written = { id, type, paymentId: `${id}_payment`, orderId, amount, currency, occurredAt: now }
  try {
    const unsigned = signer.writeEvent(written)
    const { settings, secret } = signing
    const request = { body: unsigned, secret: secret.reveal(), now, eventId: id, settings }
    return { unsigned, ...signDelivery(signer, request) }
  } catch (error) {
    if (error instanceof SigningError) throw testEventNotSignable({ reason: 'no_key' }, { cause: error })
    throw error
  }
}

/** Whether the gateway has the key that signs deliveries of this provider, and its events need no confirmation. */
export function isSignable({ scheme, confirm }: Pick<Provider, 'scheme' | 'confirm'>): boolean {
  const signer = signers.get(scheme)
  if (signer === undefined || signer.signsNothing === true) return false
  return signer.needsPrivateKey !== true && confirm === undefined
}
