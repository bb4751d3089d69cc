import { hash } from 'node:crypto'
import { parse, stringify } from 'node:querystring'
import { singleHeader } from '../../delivery.ts'
import type { WebhookEvent } from '../../event.ts'
import { type EventRules, normalizeEvent } from '../../events/event-reader.ts'
import { isEventText } from '../../events/event-text.ts'
import type { FoundEvent } from '../../events/found-event.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import { readItems } from '../../events/item-list.ts'
import { isObject, type JsonObject, readJson } from '../../events/json-object.ts'
import { resolvePointer } from '../../events/json-pointer.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { publicUrl } from '../../settings/common-settings.ts'
import { readTextKey } from '../../signatures/read-key.ts'
import { findSigner, hmac } from '../../signatures/signature.ts'
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
 * public URL with the query and, for a form, every name and value, sorted by name. For a JSON body the last parameter of
 * the query, `bodySHA256`, is its SHA-256. Twilio signs some URLs without their port, others with the default one, and some
 * queries as they were configured: all that its library accepts is accepted (`validateRequest` of npm's `twilio` 6). It signs
 * no time and no id: the id is made from the signed text. Only the items of an array (Event Streams) are CloudEvents with ids.
 */
export const twilio = defineScheme(
  'twilio',
  { publicUrl },
  {
    problemsOf: ({ publicUrl: url }) => (/[?#]/.test(url) ? ['publicUrl must end before the query'] : []),
    readKey: readTextKey,
    signedHeaders: () => ['x-twilio-signature'],
    usesQuery: () => true,
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
        const texts = signedTexts(rawBody, query)
        if (texts === null) return { refused: 'header_malformed' }
        const signersOf = (text: Buffer): (string | null)[] =>
          addresses.map((address) =>
            findSigner(secrets, [signature], { now, macOf: (key) => hmac('sha1', key, [address, text]) }),
          )
        return findSigned(texts, signersOf) ?? { refused: 'signature_mismatch' }
      }
    },
    prepareReader(settings) {
      const rules = { ...settings, types: TYPES }
      return ({ rawBody, query, signedId }) => {
        if (BODY_HASH.test(query)) return readJsonEvents(rawBody, rules)
        const form = readTwilioForm(rawBody) ?? []
        // The first of repeated fields.
        const document: JsonObject = Object.fromEntries(form.toReversed())
        return [normalizeEvent({ ...findInForm(document), id: signedId }, document, rules)]
      }
    },
  },
)

/**
 * The secret that signed one of the texts. The id of the event is made from that text, whatever the query says: nobody can
 * make two events of one signature, not even by moving a field of the form into the query.
 */
function findSigned(
  texts: readonly Buffer[],
  signersOf: (text: Buffer) => readonly (string | null)[],
): CheckResult | undefined {
  for (const text of texts) {
    const secretId = signersOf(text).find((signer) => signer !== null)
    if (secretId !== undefined && secretId !== null) return { secretId, signedId: idOfBytes(text) }
  }
  return undefined
}

/** The URL as it is configured and as browsers write it (the host in lower case), each with and without a port. */
function addressesOf(url: string): readonly string[] {
  const spellings = [url, new URL(url).href].flatMap((spelling) => {
    const [, origin = '', port, path = ''] = PARTS.exec(spelling) ?? []
    const standard = /^https:/i.test(origin) ? '443' : '80'
    return [`${origin}${path}`, `${origin}:${port ?? standard}${path}`]
  })
  return [...new Set(spellings)]
}

const PARTS = /^(https?:\/\/(?:[^/@]*@)?(?:\[[^\]]*\]|[^/:]*))(?::(\d+))?(.*)$/i

// The last parameter, so that no field of a form that is moved into the query can replace it.
const BODY_HASH = /(?:^|&)bodySHA256=([0-9a-f]{64})$/

/** What may be signed after the address; null if the body does not match its hash in the query, or is not a form. */
function signedTexts(rawBody: Buffer, query: string): readonly Buffer[] | null {
  const bodyHash = BODY_HASH.exec(query)?.[1]
  if (bodyHash !== undefined) {
    return hash('sha256', rawBody, 'hex') === bodyHash ? [Buffer.from(targetOf(query))] : null
  }
  const form = readTwilioForm(rawBody)
  if (form === null) return null
  const fields = textOfForm(form)
  // Encoded once: each form of the URL and each secret has a MAC of it.
  return spellingsOf(query).map((spelling) => Buffer.from(`${targetOf(spelling)}${fields}`))
}

/** The query as it was received and, if they differ, as browsers and as Node's `querystring` write it. */
function spellingsOf(query: string): readonly string[] {
  if (/^[\w.~=&-]*$/.test(query)) return [query]
  const escaped = query.replace(/[ "'<>]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
  return [...new Set([query, escaped, stringify(parse(query))])]
}

function targetOf(query: string): string {
  return query === '' ? '' : `?${query}`
}

type Found = Omit<FoundEvent, 'id'>

// Twilio documents no number; its arrays hold a few dozen items.
const MOST_EVENTS = 1_000

/** The events of a JSON body: one for an object, and one for each item of an array. */
function readJsonEvents(rawBody: Buffer, rules: EventRules): WebhookEvent[] {
  const body = readJson(rawBody)
  if (Array.isArray(body)) {
    const pointerOf = (index: number): string => `/${index}`
    return readItems<unknown>({ items: body, most: MOST_EVENTS, delivery: { rawBody }, pointerOf }, rules, (item) =>
      isObject(item) ? { ...findInJson(item), id: item.id } : NOTHING,
    )
  }
  return [normalizeEvent({ ...(isObject(body) ? findInJson(body) : NOTHING), id: idOfBytes(rawBody) }, body, rules)]
}

const NOTHING: FoundEvent = { id: undefined, type: undefined, objectId: undefined }

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
