import { z } from 'zod'
import { type Delivery, singleHeader } from '../../delivery.ts'
import { jsonReader } from '../../events/event-reader.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import { isObject } from '../../events/json-object.ts'
import { orderInMetadata } from '../../events/metadata.ts'
import { minorUnitsOfText } from '../../events/money.ts'
import { EFFECTS_UNKNOWN } from '../../events/permits.ts'
import { unsignedType } from '../../events/unsigned-type.ts'
import { hasKey, onlyValueOf } from '../../signatures/list-signature.ts'
import { readTextKey } from '../../signatures/read-key.ts'
import { decodeHex, findSigner, hmac, isWithinTolerance, type SignedParts } from '../../signatures/signature.ts'
import { type CheckResult, type CheckSignature, defineScheme } from '../scheme.ts'

const shape = { version: z.enum(['v0', 'v1']).optional() }

/**
 * Hook0 (documentation.hook0.com/tutorials/webhook-authentication; clients/conformance/signature.json and
 * output-worker/src/work.rs of hook0/hook0), also used by Coinbase CDP: HMAC-SHA256 in hexadecimal in
 * `X-Hook0-Signature`, as `t=…,v0=…` over time and body, or as `t=…,h=names,v1=…` over time, header names, their values
 * and body. If both are present, only `v1` counts; `version` allows one only.
 */
export const hook0 = defineScheme('hook0', shape, {
  readKey: readTextKey,
  headerFamilies: [['x-hook0-signature']],
  signedHeaders: () => ['x-hook0-signature', 'x-event-id', 'x-event-type', 'content-type'],
  coveredHeaders(delivery) {
    const presented = readSignature(delivery)
    return 'refused' in presented ? [] : presented.covered.filter((name) => !SECRETIVE.test(name))
  },
  redelivery: { hours: 192, source: 'documentation.hook0.com: 24 retries' },
  permits: EFFECTS_UNKNOWN,
  signsTime: () => true,
  prepare({ toleranceSeconds, version }, secrets): CheckSignature {
    return (delivery, now): CheckResult => {
      const presented = readSignature(delivery)
      if ('refused' in presented) return presented
      const { timestamp, signature, parts } = presented
      if (version !== undefined && version !== presented.version) return { refused: 'header_malformed' }
      if (!isWithinTolerance(timestamp, toleranceSeconds, now)) return { refused: 'timestamp_outside_window' }
      const secretId = findSigner(secrets, [signature], { now, macOf: (key) => hmac('sha256', key, parts) })
      if (secretId === null) return { refused: 'signature_mismatch' }
      const signedId = signedIdOf(delivery, presented.covered)
      return signedId === null ? { secretId } : { secretId, signedId }
    }
  },
  prepareReader: jsonReader({}, (body, at, delivery) => {
    // The sending application decides the payload: our shape is tried first, then the object in `data`, then the body.
    const object = [at('/data/object'), body.data].find(isObject) ?? body
    const header = singleHeader(delivery.rawHeaders, 'x-event-type')
    return {
      id: delivery.signedId ?? body.id ?? body.eventId ?? idOfBytes(delivery.rawBody),
      type: (isTypeSigned(delivery) ? header : null) ?? body.type ?? body.eventType ?? unsignedType(header),
      objectId: object.id,
      orderId: orderInMetadata(object, object.metadata),
      amount: minorUnitsOfText(object.amount),
      currency: object.currency,
      occurredAt: body.timestamp ?? body.created,
    }
  }),
})

interface Presented {
  readonly version: 'v0' | 'v1'
  readonly timestamp: string
  readonly signature: Buffer
  readonly parts: SignedParts
  /** The headers that the signature covers, in lower case. */
  readonly covered: readonly string[]
}

type Refused = Extract<CheckResult, { refused: unknown }>

const MALFORMED: Refused = { refused: 'header_malformed' }

function readSignature(delivery: Delivery): Presented | Refused {
  const { rawHeaders, rawBody } = delivery
  const header = singleHeader(rawHeaders, 'x-hook0-signature')
  if (!header) return { refused: 'header_missing' }
  const pairs = { header, separator: ',' }
  const version = hasKey(pairs, 'v1') ? 'v1' : 'v0'
  const timestamp = onlyValueOf(pairs, 't')
  const signature = decodeHex(onlyValueOf(pairs, version) ?? '')
  if (timestamp === undefined || signature === null) return MALFORMED
  // A text that v1 signs, sent as v0, would look like such a body.
  if (version === 'v0' && beginsAsNames(rawBody)) return MALFORMED
  if (version === 'v0') return { version, timestamp, signature, parts: [`${timestamp}.`, rawBody], covered: [] }
  const names = onlyValueOf(pairs, 'h') ?? ''
  if (!HEADER_NAMES.test(names)) return MALFORMED
  const covered = names.split(' ')
  const values = covered.map((name) => singleHeader(rawHeaders, name))
  // A covered header that is missing or repeated could have any value.
  if (values.includes(null)) return { refused: 'header_missing' }
  if (hasLostId(delivery, covered, values)) return MALFORMED
  return { version, timestamp, signature, parts: [`${timestamp}.${names}.${values.join('.')}.`, rawBody], covered }
}

// Headers that may carry credentials of a subscriber. They are never stored, although the record then cannot be checked again.
const SECRETIVE = /^(?:authorization|proxy-authorization|cookie|__proto__)$|token|secret|password|api-?key/

const HEADER_NAMES = /^[a-z0-9_-]{1,64}(?: [a-z0-9_-]{1,64}){0,31}$/
const BEGINS_AS_NAMES = /^[a-z0-9_-]{1,64}(?: [a-z0-9_-]{1,64}){0,31}\./
// 32 names of 64 bytes, each followed by one separator.
const MAX_NAMES = 32 * 65
const BRACE = 0x7b

function beginsAsNames(rawBody: Buffer): boolean {
  return rawBody[0] !== BRACE && BEGINS_AS_NAMES.test(rawBody.toString('latin1', 0, MAX_NAMES))
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Values are joined by full stops and may contain full stops, so one signature fits several splits. Ids of Hook0 are UUIDs:
 * any other id may be a part of a neighbouring value.
 */
function eventIdOf({ rawHeaders }: Delivery): string | null {
  const id = singleHeader(rawHeaders, 'x-event-id')
  return id !== null && UUID.test(id) ? id : null
}

function signedIdOf(delivery: Delivery, covered: readonly string[]): string | null {
  return covered.includes('x-event-id') ? eventIdOf(delivery) : null
}

/** Whether the id was moved into a neighbouring value, so that a captured delivery would look like another event. */
function hasLostId(delivery: Delivery, covered: readonly string[], values: readonly (string | null)[]): boolean {
  if (!covered.includes('x-event-id') || eventIdOf(delivery) !== null) return false
  return values
    .join('.')
    .split('.')
    .some((piece) => UUID.test(piece))
}

function isTypeSigned(delivery: Delivery): boolean {
  const presented = readSignature(delivery)
  return !('refused' in presented) && presented.covered.includes('x-event-type')
}
