import { hash } from 'node:crypto'
import { invalidBody } from '@oncehook/kernel/error-codes'
import { singleHeader } from '../../delivery.ts'
import type { WebhookEvent } from '../../event.ts'
import { type EventRules, type FoundEvent, normalizeEvent } from '../../events/event-reader.ts'
import { isEventText, toId } from '../../events/event-text.ts'
import { boundedItems } from '../../events/item-list.ts'
import { isObject, type JsonObject, readJson } from '../../events/json-object.ts'
import { resolvePointer } from '../../events/json-pointer.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { publicUrl } from '../../settings/common-settings.ts'
import { idOfBytes } from '../../signatures/body-signature.ts'
import { readTextKey } from '../../signatures/read-key.ts'
import { findSigner, hmac, resultOf } from '../../signatures/signature.ts'
import { decodeBase64 } from '../../signatures/signature-form.ts'
import { UNDOCUMENTED } from '../redelivery.ts'
import { type CheckResult, type CheckSignature, defineScheme } from '../scheme.ts'
import { isTooLargeForm, readTwilioForm, textOfForm } from './twilio-form.ts'

/** A charge that a caller made by `<Pay>`. A request that only creates a card token is not a payment. */
const TYPES = {
  'pay.success': 'payment.succeeded',
  'pay.payment-connector-error': 'payment.failed',
  'pay.too-many-failed-attempts': 'payment.failed',
} as const

/**
 * Twilio (twilio.com/docs/usage/webhooks/webhooks-security): HMAC-SHA1 in base64, keyed with the auth token, over the
 * public URL with the query as received and, for a form, every name and value, sorted by name. For a JSON body the last
 * parameter of the query, `bodySHA256`, is its SHA-256. The URL is accepted with and without its default port. It signs no
 * time and no id: the id is made from the signed text. Only the items of an array (Event Streams) are CloudEvents with ids.
 */
export const twilio = defineScheme(
  'twilio',
  { publicUrl },
  {
    problemsOf: ({ publicUrl: url }) => (/[?#]/.test(url) ? ['publicUrl must end before the query'] : []),
    readKey: readTextKey,
    signedHeaders: () => ['x-twilio-signature'],
    usesQuery: true,
    redelivery: UNDOCUMENTED,
    permits: { ...PAYMENTS, requireAmount: false },
    signsTime: () => false,
    takesForms: true,
    prepare({ publicUrl: url }, secrets): CheckSignature {
      const addresses = addressesOf(url)
      return ({ rawHeaders, rawBody, query }, now): CheckResult => {
        const value = singleHeader(rawHeaders, 'x-twilio-signature')
        if (value === null) return { refused: 'header_missing' }
        const signature = decodeBase64(value)
        if (signature === null) return { refused: 'header_malformed' }
        if (!BODY_HASH.test(query) && isTooLargeForm(rawBody)) return { refused: 'body_too_large' }
        const signed = signedBytes(rawBody, query)
        if (signed === null) return { refused: 'header_malformed' }
        const signers = addresses.map((address) =>
          findSigner(secrets, [signature], { now, macOf: (key) => hmac('sha1', key, [address, signed]) }),
        )
        return resultOf(signers.find((signer) => signer !== null) ?? null)
      }
    },
    prepareReader(settings) {
      const rules = { ...settings, types: TYPES }
      return ({ rawBody, query }) => {
        if (BODY_HASH.test(query)) return readItems(rawBody, rules)
        const form = readTwilioForm(rawBody) ?? []
        // The first of repeated fields.
        const document: JsonObject = Object.fromEntries(form.toReversed())
        // Exactly the signed text after the URL: a field that is moved into the query does not make another event.
        const id = idOfBytes(Buffer.from(`${targetOf(query)}${textOfForm(form)}`))
        return [normalizeEvent({ ...findInForm(document), id }, document, rules)]
      }
    },
  },
)

/** The URL as it is configured and, if it has the default port, its other form. */
function addressesOf(url: string): readonly string[] {
  const [, origin = '', port, path = ''] = /^(https?:\/\/(?:\[[^\]]*\]|[^/:]*))(?::(\d+))?(.*)$/.exec(url) ?? []
  const standard = origin.startsWith('https:') ? '443' : '80'
  if (port !== undefined && port !== standard) return [url]
  return [`${origin}${path}`, `${origin}:${standard}${path}`]
}

// The last parameter, so that no field of a form that is moved into the query can replace it.
const BODY_HASH = /(?:^|&)bodySHA256=([0-9a-f]{64})$/

/** The signed bytes after the address; null if the body does not match its hash in the query, or is not a form. */
function signedBytes(rawBody: Buffer, query: string): Buffer | null {
  const target = targetOf(query)
  const bodyHash = BODY_HASH.exec(query)?.[1]
  if (bodyHash !== undefined) return hash('sha256', rawBody, 'hex') === bodyHash ? Buffer.from(target) : null
  const form = readTwilioForm(rawBody)
  // Encoded once: each form of the URL and each secret has a MAC of it.
  return form === null ? null : Buffer.from(`${target}${textOfForm(form)}`)
}

function targetOf(query: string): string {
  return query === '' ? '' : `?${query}`
}

type Found = Omit<FoundEvent, 'id'>

// Twilio documents no number; its arrays hold a few dozen items.
const MOST_EVENTS = 1_000

/** The events of a JSON body: one for an object, and one for each item of an array. */
function readItems(rawBody: Buffer, rules: EventRules): WebhookEvent[] {
  const body = readJson(rawBody)
  const read = (document: unknown, whereOf: (item: JsonObject) => Pick<FoundEvent, 'id' | 'pointer'>): WebhookEvent => {
    if (!isObject(document))
      throw invalidBody({ reason: 'not an object' }, { message: 'The body is not a JSON object' })
    return normalizeEvent({ ...findInJson(document), ...whereOf(document) }, document, rules)
  }
  const idOfAll = idOfBytes(rawBody)
  if (!Array.isArray(body)) return [read(body, () => ({ id: idOfAll }))]
  const items = boundedItems<unknown>(body, MOST_EVENTS)
  return items.map((document, index) =>
    read(document, ({ id }) => ({ id: toId(id) ?? `${idOfAll}:${index}`, pointer: `/${index}` })),
  )
}

function findInJson(document: JsonObject): Found {
  return {
    type: isEventText(document.type) ? document.type : 'unknown',
    objectId: resolvePointer(document, '/data/id') ?? document.id ?? document.Sid,
    occurredAt: document.time ?? document.Timestamp,
  }
}

function findInForm(fields: TwilioFields): Found {
  const { MessageSid: message, CallSid: call } = fields
  const { Result: result, PaymentConfirmationCode: code } = fields
  if (result !== undefined && call !== undefined) {
    // Without a confirmation nothing was charged: only a card token was created.
    const status = result === 'success' && code === undefined ? 'token' : result
    return { type: 'pay', status, objectId: code ?? call }
  }
  if (message !== undefined) {
    return { type: 'message', status: fields.MessageStatus ?? fields.SmsStatus, objectId: message }
  }
  return {
    type: call === undefined ? 'unknown' : 'call',
    status: fields.CallStatus,
    objectId: call ?? fields.AccountSid,
  }
}

type TwilioFields = JsonObject & {
  readonly MessageSid?: unknown
  readonly CallSid?: unknown
  readonly Result?: unknown
  readonly PaymentConfirmationCode?: unknown
}
