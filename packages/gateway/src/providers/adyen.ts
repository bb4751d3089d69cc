import { invalidBody } from '@oncehook/kernel/error-codes'
import type { WebhookEvent } from '../event.ts'
import { minorUnitsOfAdyen } from './adyen-money.ts'
import { readHexKey } from './hex-key.ts'
import { boundedItems } from './item-list.ts'
import { isObject, type JsonObject, readStrictObject } from './read-event.ts'
import { type CheckSignature, defineScheme, type Finding } from './scheme.ts'
import type { SharedSettings } from './shared-settings.ts'
import { decodeBase64, findSigner, hmac, type LiveSecret } from './signature.ts'
import { toEvent } from './to-event.ts'

const TYPES = {
  'AUTHORISATION.true': 'payment.succeeded',
  'AUTHORISATION.false': 'payment.failed',
} as const

/**
 * Adyen's payment webhooks (docs.adyen.com/development-resources/webhooks/verify-hmac-signatures): every item of
 * `notificationItems` carries its own HMAC-SHA256 in base64, over eight of its members joined by colons, keyed with the
 * decoded hexadecimal key. One bad item refuses all. Neither a time nor an id is signed: the id of an event is
 * pspReference, eventCode and success. Whatever else an item says (`eventDate`, `paymentMethod`) is not signed.
 */
export const adyen = defineScheme(
  'adyen',
  {},
  {
    readKey: readHexKey,
    signedHeaders: () => [],
    signsInBody: true,
    redelivery: { hours: 720, source: 'docs.adyen.com/development-resources/webhooks/troubleshoot' },
    signsTime: () => false,
    prepare: (_, secrets): CheckSignature => {
      return ({ rawBody }, now) => {
        const items = itemsOf(rawBody)
        if (items === null) return { refused: 'header_missing' }
        // What is beyond is never read: the reader refuses so many.
        return firstRefusal(items.slice(0, MOST_ITEMS).map((item) => checkItem(item, secrets, now)))
      }
    },
    prepareReader:
      (settings) =>
      ({ rawBody }) =>
        boundedItems(itemsOf(rawBody) ?? [], MOST_ITEMS).map((item) => readItem(item, settings)),
  },
)

// Each costs a MAC before anything is known to be authentic; Adyen sends one.
const MOST_ITEMS = 250

/** The items of a body, or null where it is none that could be checked. */
function itemsOf(rawBody: Buffer): readonly JsonObject[] | null {
  try {
    const { notificationItems } = readStrictObject(rawBody, true)
    if (!Array.isArray(notificationItems) || notificationItems.length === 0) return null
    const items = notificationItems.map((entry: unknown) => (isObject(entry) ? entry.NotificationRequestItem : null))
    return items.every(isObject) ? items : null
  } catch (error) {
    // Without its members nothing can be checked: to the sender it is as good as forged.
    if (invalidBody.is(error)) return null
    throw error
  }
}

function firstRefusal(findings: readonly Finding[]): Finding {
  const [first = { refused: 'header_missing' }] = findings
  return findings.find((finding) => 'refused' in finding) ?? first
}

function checkItem(item: JsonObject, secrets: readonly LiveSecret[], now: number): Finding {
  const { hmacSignature } = isObject(item.additionalData) ? item.additionalData : {}
  if (typeof hmacSignature !== 'string') return { refused: 'header_missing' }
  const signature = decodeBase64(hmacSignature)
  const text = signedText(item)
  if (signature === null || text === null) return { refused: 'header_malformed' }
  const secretId = findSigner(secrets, [signature], { now, macOf: (key) => hmac('sha256', key, [text]) })
  return secretId === null ? { refused: 'signature_mismatch' } : { secretId }
}

/**
 * The text that is signed of an item. A colon in any member but the reference, or another form of amount, currency and
 * success, would let one signature fit another item: null.
 */
function signedText(item: JsonObject): string | null {
  const { value, currency } = isObject(item.amount) ? item.amount : {}
  const before = [item.pspReference, item.originalReference, item.merchantAccountCode].map(textOf)
  const reference = textOf(item.merchantReference)
  const behind = [value, currency, item.eventCode, item.success].map(textOf)
  const [amount = '', code = ''] = behind
  if (!/^(?:-?\d{1,18})?$/.test(amount ?? '') || !/^(?:[A-Z]{3})?$/.test(code ?? '')) return null
  if (!/^(?:true|false)$/.test(behind[3] ?? '')) return null
  if ([...before, ...behind].some((text) => text === null || text.includes(':')) || reference === null) return null
  return [...before, reference, ...behind].join(':')
}

/** A member as Adyen signs it: nothing for one that is missing; null for what is no text, integer or boolean. */
function textOf(member: unknown): string | null {
  if (member === undefined || member === null) return ''
  if (typeof member === 'string') return member.isWellFormed() ? member : null
  return Number.isSafeInteger(member) || typeof member === 'bigint' || typeof member === 'boolean'
    ? String(member)
    : null
}

function readItem(item: JsonObject, settings: SharedSettings): WebhookEvent {
  const { pspReference, eventCode, success, amount } = item
  const { value, currency } = isObject(amount) ? amount : {}
  const found = {
    id: [pspReference, eventCode, success].map(textOf).join(':'),
    type: eventCode,
    status: textOf(success),
    objectId: pspReference,
    orderId: item.merchantReference,
    amount: minorUnitsOfAdyen(value, currency),
    currency,
    occurredAt: item.eventDate,
  }
  return toEvent(found, { ...settings, types: TYPES, document: item })
}
