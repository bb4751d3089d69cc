import { type Delivery, singleHeader } from './delivery.ts'
import type { SettingsOf } from './provider-settings.ts'
import { readEvent, readStrictObject } from './read-event.ts'
import type { CheckSignature, Finding, Scheme } from './scheme.ts'
import { decodeBase64, decodeHex, findSigner, hmac, isWithinTolerance, type SignedParts } from './signature.ts'
import { toleranceOf } from './tolerance.ts'

/**
 * The generic scheme: an HMAC in one header, over the body or over a text made of the body and a timestamp header.
 * Its settings express every plain HMAC scheme; without a timestamp an old capture stays valid for ever, so that only
 * the memory of event ids stands against it.
 */
export const genericHmac: Scheme = {
  readKey(text, settings) {
    const encoding = settings.scheme === 'hmac' ? settings.secretEncoding : 'utf8'
    if (encoding === 'hex') return decodeHex(text) ?? { problem: 'is not lower-case hexadecimal' }
    if (encoding === 'base64') return decodeBase64(text) ?? { problem: 'is not base64' }
    return Buffer.from(text, 'utf8')
  },
  signedHeaders(settings) {
    if (settings.scheme !== 'hmac') return []
    const { header, timestampHeader } = settings
    return [header, ...(timestampHeader === undefined ? [] : [timestampHeader])].map((name) => name.toLowerCase())
  },
  signsTime: (settings) => settings.scheme === 'hmac' && settings.timestampHeader !== undefined,
  prepare(settings, secrets): CheckSignature {
    if (settings.scheme !== 'hmac') throw new Error('The generic scheme needs its own settings')
    const header = settings.header.toLowerCase()
    const decode = settings.encoding === 'hex' ? decodeHex : decodeBase64
    const readTimestamp = prepareTimestamp(settings)
    const partsOf = prepareSignedText(settings)
    return (delivery, now): Finding => {
      const value = singleHeader(delivery.rawHeaders, header)
      const timestamp = readTimestamp(delivery, now)
      if (value === null) return { refused: 'header_missing' }
      if ('refused' in timestamp) return timestamp
      const signature = value.startsWith(settings.prefix) ? decode(value.slice(settings.prefix.length)) : null
      if (signature === null) return { refused: 'header_malformed' }
      const parts = partsOf(timestamp.text, delivery.rawBody)
      const macOf = (key: Parameters<typeof hmac>[1]): Buffer => hmac(settings.algorithm, key, parts)
      const secretId = findSigner(secrets, [signature], { now, macOf })
      return secretId === null ? { refused: 'signature_mismatch' } : { secretId }
    }
  },
  prepareReader:
    (settings) =>
    ({ rawBody }) =>
      readEvent(readStrictObject(rawBody), settings),
}

type Timestamp = { readonly text: string } | (Finding & { readonly refused: string })

function prepareTimestamp(settings: SettingsOf<'hmac'>): (delivery: Delivery, now: number) => Timestamp {
  const name = settings.timestampHeader?.toLowerCase()
  if (name === undefined) return () => ({ text: '' })
  const tolerance = toleranceOf(settings)
  return ({ rawHeaders }, now) => {
    const text = singleHeader(rawHeaders, name)
    if (text === null) return { refused: 'header_missing' }
    return isWithinTolerance(text, tolerance, now) ? { text } : { refused: 'timestamp_outside_window' }
  }
}

/** Splits the template once, so that a delivery costs no search in it and the body is never decoded. */
function prepareSignedText(settings: SettingsOf<'hmac'>): (timestamp: string, rawBody: Buffer) => SignedParts {
  const template = settings.signedText ?? (settings.timestampHeader === undefined ? '{body}' : '{timestamp}.{body}')
  const pieces = template.split(/(\{body\}|\{timestamp\})/).filter((piece) => piece !== '')
  return (timestamp, rawBody) =>
    pieces.map((piece) => (piece === '{body}' ? rawBody : piece === '{timestamp}' ? timestamp : piece))
}
