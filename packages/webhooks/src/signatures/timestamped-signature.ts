import { singleHeader } from '../delivery.ts'
import type { SchemeParts } from '../schemes/scheme.ts'
import type { CommonSettings } from '../settings/common-settings.ts'
import { couldContinueTime } from './could-continue-time.ts'
import { readTextKey } from './read-key.ts'
import { findSigner, hmac, isWithinTolerance, type LiveSecret, resultOf } from './signature.ts'
import { createDecoder, type SignatureForm } from './signature-form.ts'

/** How two headers carry a timestamp and a signature over it and the body. */
interface TimestampedSignature extends SignatureForm {
  readonly signatureHeader: string
  readonly timestampHeader: string
  /** The signed text before the body. Default: the timestamp. */
  readonly before?: (timestamp: string) => string
  /** Converts the timestamp of a provider to seconds, ten digits. An invalid one stays invalid. */
  readonly toSeconds?: (timestamp: string) => string
  /** Finds the secret that made the signature. Default: by HMAC-SHA256. */
  readonly findSecret?: FindSecret
}

/** The id of the valid secret that made a signature; null if none did. */
export type FindSecret = (secrets: readonly LiveSecret[], presented: PresentedSignature) => string | null

/** A signature, and the content that it should cover. */
interface PresentedSignature {
  readonly signature: Buffer
  /** The signed text before the body. */
  readonly text: string
  readonly rawBody: Buffer
  /** Milliseconds. */
  readonly now: number
}

type TimestampedSignatureParts = Pick<
  SchemeParts<CommonSettings>,
  'readKey' | 'signedHeaders' | 'signsTime' | 'prepare'
>

/** The parts of every scheme that signs a timestamp and the body, but no id. By default the text of the secret is the key. */
export function timestampedSignature(spec: TimestampedSignature): TimestampedSignatureParts {
  const { signatureHeader, timestampHeader, before = same, toSeconds = same, findSecret = findByMac } = spec
  const decode = createDecoder(spec)
  return {
    readKey: readTextKey,
    signedHeaders: () => [signatureHeader, timestampHeader],
    signsTime: () => true,
    prepare({ toleranceSeconds }, secrets) {
      return ({ rawHeaders, rawBody }, now) => {
        const value = singleHeader(rawHeaders, signatureHeader)
        const timestamp = singleHeader(rawHeaders, timestampHeader)
        if (value === null || timestamp === null) return { refused: 'header_missing' }
        if (!isWithinTolerance(toSeconds(timestamp), toleranceSeconds, now))
          return { refused: 'timestamp_outside_window' }
        const signature = decode(value)
        if (signature === null) return { refused: 'header_malformed' }
        return resultOf(findSecret(secrets, { signature, text: before(timestamp), rawBody, now }))
      }
    },
  }
}

function same(text: string): string {
  return text
}

function findByMac(
  secrets: readonly LiveSecret[],
  { signature, text, rawBody, now }: PresentedSignature,
): string | null {
  if (couldContinueTime(text, rawBody)) return null
  const parts = [text, rawBody]
  return findSigner(secrets, [signature], { now, macOf: (key) => hmac('sha256', key, parts) })
}

/** Converts a timestamp of 13 digits (milliseconds) to seconds. Anything else stays as it is. */
export function secondsOf(timestamp: string): string {
  return timestamp.length === 13 && /^\d+$/.test(timestamp) ? timestamp.slice(0, 10) : timestamp
}
