import type { Delivery } from '../../delivery.ts'
import { DOCUSIGN } from '../../presets/services.ts'
import { findSigner, hmac, resultOf } from '../../signatures/signature.ts'
import { decodeBase64 } from '../../signatures/signature-form.ts'
import { presetScheme } from '../preset-scheme.ts'

// An account can have a hundred keys, and each signs every message in a header with its own number.
const MOST_KEYS = 100
const NUMBERED = /^x-docusign-signature-(?:[1-9]\d?|100)$/

/** DocuSign Connect. One of its headers must have been signed with a secret of ours, whatever keys the account has besides. */
export const docusign = presetScheme(DOCUSIGN, {
  coveredHeaders: (delivery) => [...signatureLines(delivery).keys()],
  prepare: (_, secrets) => (delivery, now) => {
    const lines = signatureLines(delivery)
    if (lines.size === 0) return { refused: 'header_missing' }
    const texts = [...lines.values()]
    if (texts.includes(null)) return { refused: 'header_malformed' }
    const signatures = texts.flatMap((text) => decodeBase64(text ?? '') ?? [])
    if (signatures.length === 0) return { refused: 'header_malformed' }
    const macOf = (key: Parameters<typeof hmac>[1]): string => hmac('sha256', key, [delivery.rawBody])
    return resultOf(findSigner(secrets, signatures, { now, macOf, most: MOST_KEYS }))
  },
})

/** The headers with signatures, by their names in lower case; null of a name that stands twice. */
function signatureLines({ rawHeaders }: Pick<Delivery, 'rawHeaders'>): ReadonlyMap<string, string | null> {
  const lines = new Map<string, string | null>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase()
    if (NUMBERED.test(name)) lines.set(name, lines.has(name) ? null : (rawHeaders[at + 1] ?? ''))
  }
  return lines
}
