import type { ReadKey } from '../schemes/scheme.ts'
import { decodeHex } from './signature.ts'

/** Reads a secret whose text is the key. */
export function readTextKey(text: string): ReadKey {
  return Buffer.from(text, 'utf8')
}

/** Reads a key in hexadecimal digits of either case. Signatures allow lower case only. */
export function readHexKey(text: string): ReadKey {
  return decodeHex(text.toLowerCase()) ?? { problem: 'is not hexadecimal' }
}
