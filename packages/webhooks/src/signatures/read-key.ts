import type { ReadKey } from '../schemes/scheme.ts'
import { decodeHex } from './signature.ts'
import { decodeAnyBase64 } from './signature-form.ts'

export function readTextKey(text: string): ReadKey {
  return Buffer.from(text, 'utf8')
}

/** Reads a key in hexadecimal digits of either case. Signatures allow lower case only. */
export function readHexKey(text: string): ReadKey {
  return decodeHex(text.toLowerCase()) ?? { problem: 'is not hexadecimal' }
}

/** Reads a key in base64 or base64url, with or without padding. */
export function readBase64Key(text: string): ReadKey {
  return decodeAnyBase64(text) ?? { problem: 'is not base64' }
}
