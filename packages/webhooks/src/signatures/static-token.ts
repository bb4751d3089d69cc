import { createSecretKey, type KeyObject } from 'node:crypto'
import { type Delivery, singleHeader } from '../delivery.ts'
import type { CheckResult } from '../schemes/scheme.ts'
import { findSigner, hmac, type LiveSecret, resultOf } from './signature.ts'
import { createDecoder } from './signature-form.ts'

/**
 * The check of a provider that sends the secret itself in a header, named in lower case. It proves only that the sender
 * knows the secret: nothing in the delivery is signed. For a stored delivery it checks the signature that `signWithToken`
 * made.
 */
export function prepareStaticToken(
  header: string,
  secrets: readonly LiveSecret[],
): (delivery: Delivery, now: number) => CheckResult {
  return ({ rawHeaders, rawBody, isStored }, now) => {
    const value = singleHeader(rawHeaders, header)
    if (!value) return { refused: 'header_missing' }
    const sent = isStored === true ? decode(value) : digestOf(Buffer.from(value, 'latin1'))
    if (sent === null) return { refused: 'header_malformed' }
    const macOf = (key: KeyObject) => (isStored === true ? signatureOf(key, rawBody) : digestTextOf(key.export()))
    return resultOf(findSigner(secrets, [sent], { now, macOf }))
  }
}

/**
 * The stored replacement of a plaintext token: a signature over the body, made with the token. An event can then be
 * checked again, but a reader of the database cannot send deliveries, unless the token is weak enough to be guessed.
 */
export function signWithToken(token: string, rawBody: Buffer): string {
  const signature = signatureOf(createSecretKey(Buffer.from(token, 'latin1')), rawBody)
  return PREFIX + Buffer.from(signature, 'latin1').toString('hex')
}

const PREFIX = 'hmac-sha256='
const decode = createDecoder({ encoding: 'hex', prefix: PREFIX })

function signatureOf(key: KeyObject, rawBody: Buffer): string {
  return hmac('sha256', key, [rawBody])
}

// Of equal length for every token, so that the time taken does not even reveal the length.
const DIGESTING = createSecretKey(Buffer.from('clear token'))

function digestTextOf(token: Buffer): string {
  return hmac('sha256', DIGESTING, [token])
}

function digestOf(token: Buffer): Buffer {
  return Buffer.from(digestTextOf(token), 'latin1')
}
