import type { ReadKey } from './scheme.ts'
import { decodeHex } from './signature.ts'

/** Reads the HMAC key of Adyen, hexadecimal digits of either case. */
export function readAdyenKey(text: string): ReadKey {
  return decodeHex(text.toLowerCase()) ?? { problem: 'is not hexadecimal' }
}
