import { z } from 'zod'
import { type Delivery, singleHeader } from '../../delivery.ts'
import { jsonReader } from '../../events/event-reader.ts'
import { EFFECTS_UNKNOWN } from '../../events/permits.ts'
import { findPlainEvent, findStrictEvent } from '../../events/plain-event.ts'
import type { Refusal } from '../../refusal.ts'
import { type CommonSettings, headerName, publicUrl } from '../../settings/common-settings.ts'
import { readBase64Key, readHexKey, readTextKey } from '../../signatures/read-key.ts'
import { findSigner, hmac, MAX_CANDIDATES, resultOf } from '../../signatures/signature.ts'
import { decodeAnyBase64, decodeAnyHex } from '../../signatures/signature-form.ts'
import {
  isTemplate,
  joinsIdAndQuery,
  joinsTimeAndQuery,
  prepareSignedText,
  SIGNED_ID,
} from '../../signatures/signed-text.ts'
import { toMilliseconds } from '../../signatures/time-forms.ts'
import { UNDOCUMENTED } from '../redelivery.ts'
import { type CheckResult, type CheckSignature, defineScheme } from '../scheme.ts'

const shape = {
  header: headerName,
  algorithm: z.enum(['sha1', 'sha256', 'sha384', 'sha512']).default('sha256'),
  encoding: z.enum(['hex', 'base64']).default('hex'),
  prefix: z.string().max(64).default(''),
  separator: z.enum([',', ';', ' ']).optional(),
  timestampPrefix: z.string().max(64).optional(),
  timestampHeader: headerName.optional(),
  idHeader: headerName.optional(),
  signedText: z
    .string()
    .max(4_096)
    .refine(isTemplate, {
      error:
        'must contain {body} once, and may contain {timestamp}, {id}, {url} and {query} once each, but no other braces',
    })
    .optional(),
  publicUrl: publicUrl.optional(),
  secretEncoding: z.enum(['utf8', 'hex', 'base64']).default('utf8'),
}

type Settings = z.output<z.ZodObject<typeof shape>> & CommonSettings

/**
 * The generic scheme: HMACs in one header, alone or as the items of a list, over the body or over a text made of the body, a
 * time, an id, the URL and the query. Its settings can describe every plain HMAC scheme. What cannot be mistaken needs no setting:
 * the case of hexadecimal digits, the padding and alphabet of base64, blanks behind a separator, and the form of a time.
 * Without a timestamp a captured delivery stays valid forever, and only the stored event ids protect against it.
 */
export const genericHmac = defineScheme('hmac', shape, {
  problemsOf: (settings) => [...problemsOfList(settings), ...problemsOfText(settings), ...problemsOfId(settings)],
  readKey(text, { secretEncoding: encoding }) {
    if (encoding === 'hex') return readHexKey(text)
    return encoding === 'base64' ? readBase64Key(text) : readTextKey(text)
  },
  signedHeaders: ({ header, timestampHeader, idHeader }) =>
    [header, timestampHeader, idHeader].filter((name) => name !== undefined),
  usesQuery: ({ signedText }) => signedText?.includes('{query}') === true,
  redelivery: UNDOCUMENTED,
  permits: EFFECTS_UNKNOWN,
  refusesUnreadable: ({ read }) => read?.type === undefined,
  signsTime,
  prepare(settings, secrets): CheckSignature {
    const { algorithm, header } = settings
    const readSignatures = prepareSignatures(settings)
    const readNamed = prepareNamed(settings)
    const partsOf = prepareSignedText(templateOf(settings), settings.publicUrl ?? '')
    return ({ rawHeaders, rawBody, query }, now): CheckResult => {
      const value = singleHeader(rawHeaders, header)
      if (value === null) return { refused: 'header_missing' }
      const items = itemsOf(value, settings)
      const named = readNamed(rawHeaders, items, now)
      if ('refused' in named) return named
      const signatures = readSignatures(items)
      if (signatures.length === 0) return { refused: 'header_malformed' }
      const parts = partsOf({ rawBody, query, ...named })
      if (parts === null) return { refused: 'signature_mismatch' }
      const secretId = findSigner(secrets, signatures, { now, macOf: (key) => hmac(algorithm, key, parts) })
      return secretId === null || named.id === '' ? resultOf(secretId) : { secretId, signedId: named.id }
    }
  },
  prepareReader: (settings) => (settings.read?.type === undefined ? readAgreed : readMapped)(settings),
})

const readAgreed = jsonReader({}, (body, _, { signedId: id }) =>
  findStrictEvent(id === undefined ? body : { ...body, id }),
)
const readMapped = jsonReader({}, (body, _, { signedId: id }) =>
  findPlainEvent(id === undefined ? body : { ...body, id }),
)

function problemsOfList({ separator, prefix, timestampPrefix, timestampHeader }: Settings): string[] {
  const problems: string[] = []
  if (timestampPrefix !== undefined && separator === undefined)
    problems.push('timestampPrefix names an item of a list, separator is missing')
  if (timestampPrefix !== undefined && timestampHeader !== undefined)
    problems.push('timestampHeader and timestampPrefix exclude each other')
  if (timestampPrefix !== undefined && timestampPrefix !== '' && timestampPrefix === prefix)
    problems.push('prefix and timestampPrefix are the same')
  if (separator !== undefined && prefix.includes(separator)) problems.push('prefix contains the separator')
  if (separator !== undefined && timestampPrefix?.includes(separator) === true)
    problems.push('timestampPrefix contains the separator')
  return problems
}

function problemsOfText(settings: Settings): string[] {
  const { signedText, publicUrl: url } = settings
  const problems: string[] = []
  if (signedText !== undefined && signedText.includes('{timestamp}') !== signsTime(settings))
    // An unsigned timestamp protects nothing, and a signed one needs its place.
    problems.push(
      signsTime(settings)
        ? 'signedText leaves the timestamp out'
        : 'signedText names a timestamp, timestampHeader or timestampPrefix is missing',
    )
  if (signedText?.includes('{url}') === true && url === undefined)
    problems.push('signedText names the URL, publicUrl is missing')
  if (signedText?.includes('{url}') !== true && url !== undefined)
    problems.push('publicUrl is set, signedText leaves {url} out')
  if (signedText !== undefined && joinsTimeAndQuery(signedText))
    problems.push('signedText needs a text that is no number between {timestamp} and {query}')
  return problems
}

function problemsOfId({ signedText = '', idHeader }: Settings): string[] {
  const problems: string[] = []
  if (signedText.includes('{id}') !== (idHeader !== undefined))
    problems.push(
      idHeader === undefined
        ? 'signedText names an id, idHeader is missing'
        : 'idHeader is set, signedText leaves {id} out',
    )
  if (joinsIdAndQuery(signedText)) problems.push('signedText cannot have both {id} and {query}')
  return problems
}

function signsTime({ timestampHeader, timestampPrefix }: Settings): boolean {
  return timestampHeader !== undefined || timestampPrefix !== undefined
}

function templateOf(settings: Settings): string {
  return settings.signedText ?? (signsTime(settings) ? '{timestamp}.{body}' : '{body}')
}

/** The items of a list, or the whole value. Proxies join lists with a comma and a blank. */
function itemsOf(value: string, { separator }: Settings): readonly string[] {
  return separator === undefined ? [value] : value.split(separator).map((item) => item.replace(/^ +/, ''))
}

/** What the headers name besides the signature; a text is empty if it is not signed. */
type Named = { readonly timestamp: string; readonly id: string } | Refused

function prepareNamed(
  settings: Settings,
): (rawHeaders: Delivery['rawHeaders'], items: readonly string[], now: number) => Named {
  const readTimestamp = prepareTimestamp(settings)
  const readId = prepareId(settings)
  return (rawHeaders, items, now) => {
    const timestamp = readTimestamp(rawHeaders, items)
    if (typeof timestamp !== 'string') return timestamp
    if (signsTime(settings) && !isNear(timestamp, settings.toleranceSeconds, now))
      return { refused: 'timestamp_outside_window' }
    const id = readId(rawHeaders)
    return typeof id === 'string' ? { timestamp, id } : id
  }
}

type Refused = { readonly refused: Refusal }
type ReadTimestamp = (rawHeaders: Delivery['rawHeaders'], items: readonly string[]) => string | Refused

/** Finds the text of the time; it is empty if none is signed. */
function prepareTimestamp({ timestampHeader, timestampPrefix }: Settings): ReadTimestamp {
  if (timestampHeader !== undefined)
    return (rawHeaders) => singleHeader(rawHeaders, timestampHeader) ?? { refused: 'header_missing' }
  if (timestampPrefix === undefined) return () => ''
  if (timestampPrefix === '') return (_, [first = '']) => first
  return (_, items) => {
    const [time, ...more] = items.filter((item) => item.startsWith(timestampPrefix))
    if (time === undefined || more.length > 0) return { refused: 'header_malformed' }
    return time.slice(timestampPrefix.length)
  }
}

/** Finds the text of the id; it is empty if none is signed. */
function prepareId({ idHeader }: Settings): (rawHeaders: Delivery['rawHeaders']) => string | Refused {
  if (idHeader === undefined) return () => ''
  return (rawHeaders) => {
    const id = singleHeader(rawHeaders, idHeader)
    if (id === null) return { refused: 'header_missing' }
    return SIGNED_ID.test(id) ? id : { refused: 'header_malformed' }
  }
}

function isNear(timestamp: string, toleranceSeconds: number, now: number): boolean {
  const ms = toMilliseconds(timestamp)
  return ms !== null && Math.abs(now - ms) <= toleranceSeconds * 1_000
}

/** Finds the signatures: at most as many as are checked, whatever else is in the list. */
function prepareSignatures({ encoding, prefix }: Settings): (items: readonly string[]) => Buffer[] {
  const decode = encoding === 'hex' ? decodeAnyHex : decodeAnyBase64
  return (items) => {
    const found: Buffer[] = []
    for (const item of items) {
      const signature = item.startsWith(prefix) ? decode(item.slice(prefix.length)) : null
      if (signature !== null) found.push(signature)
      if (found.length === MAX_CANDIDATES) break
    }
    return found
  }
}
