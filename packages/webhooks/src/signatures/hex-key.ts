import type { ReadKey } from '../schemes/scheme.ts'
import { decodeHex } from './signature.ts'

/** Reads a key that providers show in hexadecimal digits, of either case; signatures are strict. */
export function readHexKey(text: string): ReadKey {
  return decodeHex(text.toLowerCase()) ?? { problem: 'is not hexadecimal' }
}
