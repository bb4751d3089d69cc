import { createSecretKey, hash, type KeyObject } from 'node:crypto'
import { eventInvalid } from '../../errors.ts'
import { eventReader } from '../../events/event-reader.ts'
import { toId } from '../../events/event-text.ts'
import type { FoundEvent } from '../../events/found-event.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import { isObject, type JsonObject } from '../../events/json-object.ts'
import { resolvePointer } from '../../events/json-pointer.ts'
import { minorUnits } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import type { Refusal } from '../../refusal.ts'
import {
  decodeHex,
  findSigner,
  hmac,
  isLive,
  type LiveSecret,
  lastingSecret,
  resultOf,
} from '../../signatures/signature.ts'
import { defineScheme, type ReadKey } from '../scheme.ts'
import { readNotification } from './notification-xml.ts'

const OF_SALES = [{ '/subject/transaction/type': 'sale' }]

/** A refund is a transaction too, of the type `credit`. */
const TYPES = {
  subscription_charged_successfully: 'payment.succeeded',
  subscription_charged_unsuccessfully: 'payment.failed',
  transaction_settled: { is: 'payment.succeeded', where: OF_SALES },
  transaction_settlement_declined: { is: 'payment.failed', where: OF_SALES },
} as const

/**
 * Braintree (developer.paypal.com/braintree/docs/guides/webhooks; the npm library braintree): a form with `bt_payload`, XML in base64,
 * and `bt_signature`, for each key of the account its public key, `|` and the HMAC-SHA1 of the payload, keyed with the SHA-1 of the
 * private key. The secret is both keys. Neither a time nor an id is signed, so the id is made from the XML. The URL is checked by a GET,
 * whose challenge is signed like a payload: a payload that could be a challenge counts for nothing.
 */
export const braintree = defineScheme(
  'braintree',
  {},
  {
    readKey: readKeys,
    signedHeaders: () => [],
    signsInBody: true,
    takesForms: true,
    redelivery: { hours: 24, source: 'developer.paypal.com/braintree/docs/guides/webhooks/parse: every hour' },
    permits: { ...PAYMENTS, origin: ['/source-merchant-id'] },
    signsTime: () => false,
    prepare:
      (_, secrets) =>
      ({ rawBody }, now) => {
        const sent = readSent(rawBody)
        if (typeof sent === 'string') return { refused: sent }
        const signer = secrets.find((secret) => isLive(secret, now) && hasSigned(secret, sent, now))
        return resultOf(signer?.id ?? null)
      },
    prepareCheck: (_, secrets) => (query, now) => answerChallenge(query, lastingSecret(secrets, now)),
    prepareReader: eventReader(TYPES, ({ rawBody }) => {
      const sent = readSent(rawBody)
      if (typeof sent === 'string') throw eventInvalid()
      const xml = Buffer.from(sent.payload, 'base64')
      const document = readNotification(xml.toString())
      if (document === null) throw eventInvalid()
      return { found: { ...findIn(document), id: idOfBytes(xml) }, document }
    }),
  },
)

const KEYS = /^([\w-]{1,64}):([\w-]{16,128})$/

/** The public key is not secret: it says which of the signatures is to be checked, and is in the answer to a challenge. */
function readKeys(text: string): ReadKey {
  const [, kind, privateKey] = KEYS.exec(text) ?? []
  if (kind === undefined || privateKey === undefined)
    return { problem: 'is not the public key, a colon and the private key' }
  return { key: createSecretKey(hash('sha1', privateKey, 'buffer')), kind }
}

interface Sent {
  readonly payload: string
  readonly signatures: readonly (readonly [publicKey: string, signature: Buffer])[]
}

const MOST_FIELDS = 20
// Each key of the account signs, and every user can have keys.
const MOST_SIGNATURES = 1_000
const PAYLOAD = /^[A-Za-z0-9+/=\n]+$/
// As in Braintree's library.
const CHALLENGE = /^[a-f0-9]{20,32}$/

function readSent(rawBody: Buffer): Sent | Refusal {
  const pairs = rawBody.toString('latin1').split('&', MOST_FIELDS + 1)
  if (pairs.length > MOST_FIELDS) return 'body_too_large'
  const [payload, ...otherPayloads] = valuesOf(pairs, 'bt_payload')
  const [signature, ...otherSignatures] = valuesOf(pairs, 'bt_signature')
  if (!payload || !signature || otherPayloads.length + otherSignatures.length > 0) return 'header_missing'
  const signatures = signature
    .split('&', MOST_SIGNATURES)
    .map((one) => one.split('|'))
    .flatMap(([publicKey = '', hex = '', ...more]) => {
      const bytes = more.length === 0 ? decodeHex(hex) : null
      return bytes === null ? [] : [[publicKey, bytes] as const]
    })
  const isPayload = PAYLOAD.test(payload) && !CHALLENGE.test(payload.trim())
  return isPayload && signatures.length > 0 ? { payload, signatures } : 'header_malformed'
}

/** The values of a name, decoded. A value that is not encoded as in a form is empty. */
function valuesOf(pairs: readonly string[], name: string): string[] {
  return pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => decode(pair.slice(name.length + 1)))
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '))
  } catch {
    return ''
  }
}

/** Whether a key has signed the payload as it was sent or, as Braintree's library allows, with the line feed that it may have lost. */
function hasSigned(secret: LiveSecret, { payload, signatures }: Sent, now: number): boolean {
  const own = signatures.flatMap(([publicKey, signature]) => (publicKey === secret.kind ? [signature] : []))
  if (own.length === 0) return false
  return [payload, `${payload}\n`].some(
    (text) => findSigner([secret], own, { now, macOf: (key: KeyObject) => hmac('sha1', key, [text]) }) !== null,
  )
}

function answerChallenge(query: string, secret: LiveSecret | undefined): string | null {
  const [challenge = '', ...more] = new URLSearchParams(query).getAll('bt_challenge')
  if (secret === undefined || more.length > 0 || !CHALLENGE.test(challenge)) return null
  return `${secret.kind}|${Buffer.from(hmac('sha1', secret.key, [challenge]), 'latin1').toString('hex')}`
}

type Found = Omit<FoundEvent, 'id'>

function findIn(document: JsonObject): Found {
  const { kind, timestamp, subject } = document
  const at = (pointer: string): unknown => resolvePointer(document, pointer)
  const isCharge = kind === 'subscription_charged_successfully' || kind === 'subscription_charged_unsuccessfully'
  const transaction = isCharge ? latestOf(at('/subject/subscription/transactions')) : at('/subject/transaction')
  const event = { type: kind, occurredAt: timestamp }
  if (!isObject(transaction)) return { ...event, objectId: isCharge ? undefined : idOfSubject(subject) }
  const currency = transaction['currency-iso-code']
  const subscription = at('/subject/subscription/id') ?? transaction['subscription-id']
  return {
    ...event,
    objectId: transaction.id,
    orderId: toId(transaction['order-id']) ?? subscription,
    amount: minorUnits(transaction.amount, currency),
    currency,
  }
}

/** The last charge of a subscription: the newest of those that say when they were made, otherwise the first. */
function latestOf(transactions: unknown): JsonObject | undefined {
  const charges = (Array.isArray(transactions) ? transactions : [])
    .filter(isObject)
    .filter(({ type }) => type === undefined || type === 'sale')
  const madeAt = ({ 'created-at': at }: JsonObject): string => (typeof at === 'string' ? at : '')
  return charges.reduce<JsonObject | undefined>(
    (latest, one) => (latest === undefined || madeAt(one) > madeAt(latest) ? one : latest),
    undefined,
  )
}

/** The id of what the notification is about: of a dispute, a disbursement, a merchant account. */
function idOfSubject(subject: unknown): unknown {
  const [first] = isObject(subject) ? Object.values(subject) : []
  return isObject(first) ? (first.id ?? first['payment-id']) : undefined
}
