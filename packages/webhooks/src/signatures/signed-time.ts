import { singleHeader } from '../delivery.ts'
import type { CheckSignature, Finding, SchemeParts } from '../schemes/scheme.ts'
import type { SharedSettings } from '../settings/shared-settings.ts'
import {
  couldContinueTime,
  createDecoder,
  findSigner,
  hmac,
  isWithinTolerance,
  type LiveSecret,
  type SignatureForm,
} from './signature.ts'

/** How two headers carry a timestamp and an HMAC-SHA256 over it and the body. */
export interface SignedTime extends SignatureForm {
  readonly signatureHeader: string
  readonly timestampHeader: string
  /** The signed text before the body. */
  readonly before: (timestamp: string) => string
  /** Converts the timestamp of a provider to seconds, ten digits. An invalid one stays invalid. */
  readonly toSeconds?: (timestamp: string) => string
}

type SignedTimeParts = Pick<SchemeParts<SharedSettings>, 'readKey' | 'signedHeaders' | 'signsTime' | 'prepare'>

/** The parts of every scheme that signs a timestamp and the body, but no id. The text of the secret is the key. */
export function signedTime(spec: SignedTime): SignedTimeParts {
  const { signatureHeader, timestampHeader, before, toSeconds = (text) => text } = spec
  const decode = createDecoder(spec)
  return {
    readKey: (text) => Buffer.from(text, 'utf8'),
    signedHeaders: () => [signatureHeader, timestampHeader],
    signsTime: () => true,
    prepare({ toleranceSeconds }, secrets): CheckSignature {
      return ({ rawHeaders, rawBody }, now): Finding => {
        const value = singleHeader(rawHeaders, signatureHeader)
        const timestamp = singleHeader(rawHeaders, timestampHeader)
        if (value === null || timestamp === null) return { refused: 'header_missing' }
        if (!isWithinTolerance(toSeconds(timestamp), toleranceSeconds, now))
          return { refused: 'timestamp_outside_window' }
        const signature = decode(value)
        if (signature === null) return { refused: 'header_malformed' }
        return judge({ signature, text: before(timestamp), rawBody }, secrets, now)
      }
    },
  }
}

interface Presented {
  readonly signature: Buffer
  /** The signed text before the body. */
  readonly text: string
  readonly rawBody: Buffer
}

function judge({ signature, text, rawBody }: Presented, secrets: readonly LiveSecret[], now: number): Finding {
  if (couldContinueTime(text, rawBody)) return { refused: 'signature_mismatch' }
  const parts = [text, rawBody]
  const secretId = findSigner(secrets, [signature], { now, macOf: (key) => hmac('sha256', key, parts) })
  return secretId === null ? { refused: 'signature_mismatch' } : { secretId }
}

/** Converts a timestamp of 13 digits (milliseconds) to seconds. Anything else stays as it is. */
export function secondsOf(timestamp: string): string {
  return timestamp.length === 13 && /^\d+$/.test(timestamp) ? timestamp.slice(0, 10) : timestamp
}
