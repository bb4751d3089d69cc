import { invalidBody } from '@oncehook/kernel/http/error-codes'
import { parseStrictJson } from '@oncehook/kernel/http/strict-json'
import { isEventText } from '../../events/event-text.ts'
import type { FoundEvent } from '../../events/found-event.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import { readItems } from '../../events/item-list.ts'
import { DELIVERY_DEPTH, isObject, type JsonObject } from '../../events/json-object.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { unsignedType } from '../../events/unsigned-type.ts'
import { ADYEN_DECIMALS } from '../../presets/services.ts'
import { readHexKey } from '../../signatures/read-key.ts'
import { findSigner, hmac, type LiveSecret, resultOf } from '../../signatures/signature.ts'
import { decodeBase64 } from '../../signatures/signature-form.ts'
import { type CheckResult, type CheckSignature, defineScheme } from '../scheme.ts'
import { minorUnitsOfAdyen } from './adyen-money.ts'

const TYPES = {
  'AUTHORISATION.true': 'payment.succeeded',
  'AUTHORISATION.false': 'payment.failed',
} as const

/** The signed properties of an item. The settings may point to these only. */
const SIGNED_PROPERTIES = [
  ...['/pspReference', '/originalReference', '/merchantAccountCode', '/merchantReference'],
  ...['/amount/value', '/amount/currency', '/eventCode', '/success'],
]

/**
 * Adyen's payment webhooks (docs.adyen.com/development-resources/webhooks/verify-hmac-signatures): every item of
 * `notificationItems` carries its own HMAC-SHA256 in base64, over eight of its properties joined by colons, keyed with the
 * decoded hexadecimal key. Items that hold count, whatever else is in the delivery; an item that its signature does not
 * determine has no effect. Neither a time nor an id is signed: the id of an event is made from pspReference, eventCode and
 * success. Other properties (`eventDate`, `paymentMethod`) are not signed.
 */
export const adyen = defineScheme(
  'adyen',
  {},
  {
    readKey: readHexKey,
    signedHeaders: () => [],
    signsInBody: true,
    redelivery: { hours: 720, source: 'docs.adyen.com/development-resources/webhooks/troubleshoot' },
    permits: { ...PAYMENTS, origin: ['/merchantAccountCode'], signedProperties: SIGNED_PROPERTIES },
    signsTime: () => false,
    prepare: (_, secrets): CheckSignature => {
      return ({ rawBody }, now) => {
        const signatures = countSignatures(rawBody)
        if (signatures === 0) return { refused: 'header_missing' }
        const mostBytes = Math.min(signatures * MOST_ITEM_BYTES, MOST_PARSED_BYTES)
        if (rawBody.length > mostBytes) return { refused: 'body_too_large' }
        const items = itemsOf(rawBody)
        if (items === null) return { refused: 'header_missing' }
        // Items beyond this are never read: the reader refuses a delivery that has them.
        return checkItems(items.slice(0, MOST_ITEMS), secrets, now)
      }
    },
    prepareReader(settings) {
      const rules = { ...settings, types: TYPES }
      const pointerOf = (index: number): string => `/notificationItems/${index}/NotificationRequestItem`
      return (delivery) =>
        readItems({ items: itemsOf(delivery.rawBody) ?? [], most: MOST_ITEMS, delivery, pointerOf }, rules, findInItem)
    },
  },
)

// Each costs a MAC before anything is known to be authentic; Adyen sends one.
const MOST_ITEMS = 250
// An item of Adyen takes one to four kilobytes and has a few dozen properties.
const MOST_ITEM_BYTES = 65_536
// Parsing takes up to 25 times the size of the body, before anything is known to be authentic.
const MOST_PARSED_BYTES = 196_608
const MOST_PARTS = 20_000
// A property of Adyen takes 25 bytes with its name. Small bodies may be denser.
const LEAST_BYTES_OF_PART = 8
const FREE_PARTS = 1_000
const SIGNATURE_MEMBER = Buffer.from('"hmacSignature"')

/** How many items can have a signature, `MOST_ITEMS` at most, counted without parsing. */
function countSignatures(rawBody: Buffer): number {
  let found = 0
  for (let at = rawBody.indexOf(SIGNATURE_MEMBER); at !== -1 && found < MOST_ITEMS; found += 1) {
    at = rawBody.indexOf(SIGNATURE_MEMBER, at + SIGNATURE_MEMBER.length)
  }
  return found
}

/** The items of a body; null if they cannot be checked. */
function itemsOf(rawBody: Buffer): readonly JsonObject[] | null {
  try {
    const maxParts = Math.min(FREE_PARTS + Math.ceil(rawBody.length / LEAST_BYTES_OF_PART), MOST_PARTS)
    const body = parseStrictJson(rawBody, { maxDepth: DELIVERY_DEPTH, bigIntegers: true, maxParts })
    const notificationItems = isObject(body) ? body.notificationItems : undefined
    if (!Array.isArray(notificationItems) || notificationItems.length === 0) return null
    const items = notificationItems.map((entry: unknown) => (isObject(entry) ? entry.NotificationRequestItem : null))
    return items.every(isObject) ? items : null
  } catch (error) {
    // Without its properties nothing can be checked: the sender gets the same answer as for a forged delivery.
    if (invalidBody.is(error)) return null
    throw error
  }
}

/** Refused only if no item holds: of the others, each proves itself. */
function checkItems(items: readonly JsonObject[], secrets: readonly LiveSecret[], now: number): CheckResult {
  const results = items.map((item) => checkItem(item, secrets, now))
  const [first = MISSING] = results
  const held = results.find((result) => 'secretId' in result)
  if (held === undefined) return first
  const refusedItems = results.flatMap((result, index) => ('refused' in result ? [index] : []))
  return refusedItems.length === 0 ? held : { ...held, refusedItems }
}

const MISSING: CheckResult = { refused: 'header_missing' }

function checkItem(item: JsonObject, secrets: readonly LiveSecret[], now: number): CheckResult {
  const { hmacSignature } = isObject(item.additionalData) ? item.additionalData : {}
  if (typeof hmacSignature !== 'string') return { refused: 'header_missing' }
  const signature = decodeBase64(hmacSignature)
  const text = signedText(item)
  if (signature === null || text === null) return { refused: 'header_malformed' }
  return resultOf(findSigner(secrets, [signature], { now, macOf: (key) => hmac('sha256', key, [text]) }))
}

/** The signed text of an item; null if a property is not a text, or is too long. */
function signedText(item: JsonObject): string | null {
  const texts = signedTexts(item)
  return texts.includes(null) ? null : texts.join(':')
}

function signedTexts(item: JsonObject): (string | null)[] {
  const { value, currency } = isObject(item.amount) ? item.amount : {}
  const { pspReference, originalReference, merchantAccountCode, merchantReference, eventCode, success } = item
  const before = [pspReference, originalReference, merchantAccountCode, merchantReference]
  return [...before, value, currency, eventCode, success].map(textOf)
}

const REFERENCE_AT = 3

/**
 * Whether the signature would fit another item too: a property other than the reference contains a colon, or amount, currency
 * or success has another form. Adyen itself sends such items, for reports whose names contain times.
 */
function isAmbiguous(item: JsonObject): boolean {
  const texts = signedTexts(item).map((text) => text ?? '')
  const [amount = '', currency = '', , success = ''] = texts.slice(REFERENCE_AT + 1)
  if (!/^(?:-?\d{1,18})?$/.test(amount) || !/^(?:[A-Z]{3})?$/.test(currency)) return true
  if (!/^(?:true|false)$/.test(success)) return true
  return texts.some((text, at) => at !== REFERENCE_AT && text.includes(':'))
}

// No reference is nearly as long, and every character of it is hashed once for each secret.
const MOST_TEXT = 1_024

/** A property as Adyen signs it: empty if it is missing; null if it is not a text, integer or boolean, or is too long. */
function textOf(member: unknown): string | null {
  if (member === undefined || member === null) return ''
  if (typeof member === 'string') return member.length <= MOST_TEXT && member.isWellFormed() ? member : null
  return Number.isSafeInteger(member) || typeof member === 'bigint' || typeof member === 'boolean'
    ? String(member)
    : null
}

function findInItem(item: JsonObject): FoundEvent {
  const { pspReference, eventCode, success, amount } = item
  if (isAmbiguous(item)) {
    // The same for every item that the signature fits, and for no other: none can take the place of an event that counts.
    const id = idOfBytes(Buffer.from(signedText(item) ?? ''))
    const type = unsignedType(isEventText(eventCode) ? eventCode : undefined)
    return { id, type, types: {}, objectId: pspReference, withheld: 'ambiguous' }
  }
  const { value, currency } = isObject(amount) ? amount : {}
  return {
    id: [pspReference, eventCode, success].map(textOf).join(':'),
    type: eventCode,
    status: textOf(success),
    objectId: pspReference,
    orderId: item.merchantReference,
    amount: minorUnitsOfAdyen(value, currency),
    currency,
    decimals: ADYEN_DECIMALS,
    occurredAt: item.eventDate,
  }
}
