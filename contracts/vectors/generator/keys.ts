import { createECDH, createPrivateKey, type KeyObject, sign, verify } from 'node:crypto'

/** The 32 bytes 00 01 … 1f, the key of most vectors whose key is bytes. */
export const KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => index))
const OTHER_KEY = Buffer.alloc(32, 7)

// RFC 8410 section 7: the bytes before the seed in PKCS #8.
const ED25519_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

function ed25519(seed: Buffer): KeyObject {
  return createPrivateKey({ key: Buffer.concat([ED25519_HEAD, seed]), format: 'der', type: 'pkcs8' })
}

const own = ed25519(KEY)
const other = ed25519(OTHER_KEY)

/** Used instead of a secret if another key signs. */
export const ANOTHER = 'another'

/** Signs with Ed25519 from the seed `KEY`, or from another. */
export function signEd25519(text: Buffer, secret: string): Buffer {
  return sign(null, text, secret === ANOTHER ? other : own)
}

// RFC 8032 section 5.1: the order of the group.
const ORDER = 2n ** 252n + 27_742_317_777_372_353_535_851_937_790_883_648_493n

/** The other signature that verifies if the size of S is not checked: its S is beyond the order of the group. */
export function malleableEd25519(signature: Buffer): Buffer {
  const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`) + ORDER
  const bytes = Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse()
  return Buffer.concat([signature.subarray(0, 32), bytes])
}

function p256(scalar: Buffer): KeyObject {
  const ecdh = createECDH('prime256v1')
  ecdh.setPrivateKey(scalar)
  const point = ecdh.getPublicKey()
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((bytes) => bytes.toString('base64url'))
  if (x === undefined || y === undefined) throw new Error('The point is none')
  return createPrivateKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x, y, d: scalar.toString('base64url') } })
}

/** A signer whose signatures differ each time. It reuses a known signature that verifies. */
export interface EcdsaSigner {
  readonly publicKey: KeyObject
  sign(text: Buffer, secret: string, hash?: string): Buffer
}

/**
 * Creates the signer of ECDSA on P-256 with `KEY` as its private number. ECDSA draws a random number for every
 * signature. To make the same vectors each time, the signer reuses a signature among `known` that verifies.
 */
export function createEcdsaSigner(known: readonly Buffer[]): EcdsaSigner {
  const keys = { own: p256(KEY), other: p256(OTHER_KEY) }
  const made = new Map<string, Buffer>()
  return {
    publicKey: keys.own,
    sign(text, secret, hash = 'sha256') {
      const key = secret === ANOTHER ? keys.other : keys.own
      const name = `${secret === ANOTHER} ${hash} ${text.toString('latin1')}`
      const signature = made.get(name) ?? known.find((one) => verifies(hash, text, { key, signature: one }))
      const found = signature ?? signSpoilable(hash, text, key)
      made.set(name, found)
      return found
    },
  }
}

function verifies(hash: string, text: Buffer, { key, signature }: { key: KeyObject; signature: Buffer }): boolean {
  try {
    return verify(hash, text, key, signature)
  } catch {
    return false
  }
}

/** A signature whose base64 has padding and both symbols, so that tests can break each of these. */
function signSpoilable(hash: string, text: Buffer, key: KeyObject): Buffer {
  for (;;) {
    const signature = sign(hash, text, key)
    if (/^(?=.*\+)(?=.*\/).*=$/.test(signature.toString('base64'))) return signature
  }
}
