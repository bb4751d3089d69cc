import { singleHeader } from '../delivery.ts'
import type { SchemeParts } from '../schemes/scheme.ts'
import type { CommonSettings } from '../settings/common-settings.ts'
import { bytesOf, onlyValueOf } from './key-value-header.ts'
import { readTextKey } from './read-key.ts'
import { findSigner, hmac, isWithinTolerance, resultOf } from './signature.ts'

/** How one header carries a timestamp and one or more HMAC-SHA256 over it and the body, such as `t=1760000000,v1=…`. */
interface ListSignature {
  readonly header: string
  readonly separator: ',' | ';'
  /** The name of the timestamp. */
  readonly time: string
  /** The name of a signature: lower-case hexadecimal digits. Other names are ignored. */
  readonly signature: string
  /** The signed text before the body. */
  readonly before: (timestamp: string) => string
}

type ListSignatureParts = Pick<SchemeParts<CommonSettings>, 'readKey' | 'signedHeaders' | 'signsTime' | 'prepare'>

/** The parts of every scheme with such a header. The text of the secret is the key. */
export function listSignature({ header, separator, time, signature, before }: ListSignature): ListSignatureParts {
  return {
    readKey: readTextKey,
    signedHeaders: () => [header],
    signsTime: () => true,
    prepare({ toleranceSeconds }, secrets) {
      return ({ rawHeaders, rawBody }, now) => {
        const value = singleHeader(rawHeaders, header)
        if (!value) return { refused: 'header_missing' }
        const pairs = { header: value, separator }
        const timestamp = onlyValueOf(pairs, time)
        if (timestamp === undefined) return { refused: 'header_malformed' }
        if (!isWithinTolerance(timestamp, toleranceSeconds, now)) return { refused: 'timestamp_outside_window' }
        const parts = [before(timestamp), rawBody]
        const macs = bytesOf(pairs, signature)
        return resultOf(findSigner(secrets, macs, { now, macOf: (key) => hmac('sha256', key, parts) }))
      }
    },
  }
}
