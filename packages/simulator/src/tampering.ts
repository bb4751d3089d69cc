import {
  type HeaderLine,
  type SignedDelivery,
  type Signer,
  SigningError,
  type SigningRequest,
  signDelivery,
} from '@oncehook/webhooks/signing/signer'

/** The parts of a delivery to tamper with. A receiver must answer each with 401. */
export const tamperedParts = ['body', 'signature', 'timestamp'] as const

/** The wrong part: one bit of the body, or of each item that is signed by itself, the signature (well-formed, but for other bytes), or the time (not the signed one). */
export type TamperedPart = (typeof tamperedParts)[number]

/**
 * A delivery that is correct except for one part. It works for every scheme, because it only signs twice.
 * @throws SigningError if the scheme does not sign that part, because the delivery would be valid
 */
export function signTampered(signer: Signer, request: SigningRequest, tampered: TamperedPart): SignedDelivery {
  const flip = (body: Uint8Array): Uint8Array => flipBits(body, signer.seal?.signedOffsets(body))
  const right = signDelivery(signer, request)
  const other = signDelivery(signer, { ...request, body: flip(request.body) })
  if (tampered === 'timestamp') {
    const headers = right.headers.map((line) => postpone(line, request.now))
    if (isSame(right.headers, headers))
      throw new SigningError('The scheme signs no time, so there is nothing to tamper with')
    return { ...right, headers }
  }
  if (signer.seal === undefined && isSame(right.headers, other.headers)) {
    throw new SigningError('The scheme does not sign the body, so there is nothing to tamper with')
  }
  if (tampered === 'body') return { ...right, body: flip(right.body) }
  // A sealed body contains its signature, so the changed bit is restored.
  return { ...right, headers: other.headers, body: signer.seal === undefined ? right.body : flip(other.body) }
}

function isSame(one: readonly HeaderLine[], other: readonly HeaderLine[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

function flipBits(body: Uint8Array, offsets: readonly number[] = [body.length >> 1]): Uint8Array {
  if (body.length === 0) return Uint8Array.of(0x20)
  // The lowest bit of a byte: ASCII stays ASCII, so that only the signature is wrong.
  return body.map((byte, index) => (offsets.includes(index) ? byte ^ 1 : byte))
}

/** Replaces milliseconds before seconds, because the first text starts with the second. */
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
