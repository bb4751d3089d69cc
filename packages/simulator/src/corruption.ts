import {
  type HeaderLine,
  type SignedDelivery,
  type Signer,
  SigningError,
  type SigningRequest,
  signDelivery,
} from './signers/signer.ts'

/** The ways to spoil a delivery, each of which a receiver must answer with 401. */
export const corruptions = ['body', 'signature', 'timestamp'] as const

/** What is wrong: one bit of the body, the signature (well-formed, but of other bytes), or the time (not the one signed). */
export type Corruption = (typeof corruptions)[number]

/**
 * A delivery that looks right in every way but one. Works for any scheme, since it only signs twice.
 * @throws SigningError where the scheme does not sign what is to be spoiled: such a delivery would be right
 */
export function signCorrupted(signer: Signer, request: SigningRequest, corruption: Corruption): SignedDelivery {
  const flip = (body: Uint8Array): Uint8Array => flipOneBit(body, signer.seal?.signedOffset(body))
  const right = signDelivery(signer, request)
  const other = signDelivery(signer, { ...request, body: flip(request.body) })
  if (corruption === 'timestamp') {
    const headers = right.headers.map((line) => postpone(line, request.now))
    if (isSame(right.headers, headers)) throw new SigningError('The scheme signs no time that could be spoiled')
    return { ...right, headers }
  }
  if (signer.seal === undefined && isSame(right.headers, other.headers)) {
    throw new SigningError('The scheme signs nothing of the body: there is nothing to spoil')
  }
  if (corruption === 'body') return { ...right, body: flip(right.body) }
  // A sealed body carries its signature along: what was changed is changed back.
  return { ...right, headers: other.headers, body: signer.seal === undefined ? right.body : flip(other.body) }
}

function isSame(one: readonly HeaderLine[], other: readonly HeaderLine[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

function flipOneBit(body: Uint8Array, offset = body.length >> 1): Uint8Array {
  if (body.length === 0) return Uint8Array.of(0x20)
  // The lowest bit of a byte in the middle: of ASCII it makes ASCII, so that nothing but the signature is wrong.
  return body.map((byte, index) => (index === offset ? byte ^ 1 : byte))
}

/** Whole milliseconds before seconds: the one text begins with the other. */
function postpone([name, value]: HeaderLine, now: number): HeaderLine {
  const ms = Math.floor(now)
  const seconds = Math.floor(now / 1000)
  const postponed = value
    .replace(String(ms), String(ms + 1000))
    .replace(String(seconds), String(seconds + 1))
    .replace(toIsoSeconds(now), toIsoSeconds(now + 1000))
  return [name, postponed]
}

function toIsoSeconds(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19)
}
