import type { HeaderLine, Signer, SigningRequest } from './signers/signer.ts'

/** The ways to spoil a delivery, each of which a receiver must answer with 401. */
export const corruptions = ['body', 'signature', 'timestamp'] as const

/** What is wrong: one bit of the body, the signature (well-formed, but of other bytes), or the time (not the one signed). */
export type Corruption = (typeof corruptions)[number]

/** What goes on the wire, beside the address. */
export interface SignedDelivery {
  readonly headers: readonly HeaderLine[]
  readonly body: Uint8Array
}

/** A delivery that looks right in every way but one. Works for any scheme, since it only signs twice. */
export function signCorrupted(signer: Signer, request: SigningRequest, corruption: Corruption): SignedDelivery {
  const { body } = request
  switch (corruption) {
    case 'body':
      return { headers: signer.sign(request), body: flipOneBit(body) }
    case 'signature':
      return { headers: signer.sign({ ...request, body: flipOneBit(body) }), body }
    case 'timestamp':
      return { headers: signer.sign(request).map((line) => postpone(line, request.now)), body }
  }
}

function flipOneBit(body: Uint8Array): Uint8Array {
  if (body.length === 0) return Uint8Array.of(0x20)
  // The lowest bit of a byte in the middle: of ASCII it makes ASCII, so that nothing but the signature is wrong.
  const middle = body.length >> 1
  return body.map((byte, index) => (index === middle ? byte ^ 1 : byte))
}

/** Whole milliseconds before seconds: the one text begins with the other. */
function postpone([name, value]: HeaderLine, now: number): HeaderLine {
  const ms = Math.floor(now)
  const seconds = Math.floor(now / 1000)
  return [name, value.replace(String(ms), String(ms + 1000)).replace(String(seconds), String(seconds + 1))]
}
