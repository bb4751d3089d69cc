import { decodeHex } from './signature.ts'

/** The bytes of padded, canonical base64 (RFC 4648 section 4), or null for anything else. */
export function decodeBase64(text: string): Buffer | null {
  if (text === '') return null
  const bytes = Buffer.from(text, 'base64')
  // The decoder is lenient. The encoder makes only one text from these bytes.
  return bytes.toString('base64') === text ? bytes : null
}

/** How a header carries a signature. */
export interface SignatureForm {
  readonly encoding: 'hex' | 'base64'
  /** The text before the signature. */
  readonly prefix?: string
  /** Whether the prefix may be left out. */
  readonly prefixOptional?: boolean
}

/** Makes the reader of signatures of one form. It returns their bytes, or null for any other form. */
export function createDecoder({ encoding, prefix = '', prefixOptional = false }: SignatureForm) {
  const decode = encoding === 'hex' ? decodeHex : decodeBase64
  return (value: string): Buffer | null => {
    if (value.startsWith(prefix)) return decode(value.slice(prefix.length))
    return prefixOptional ? decode(value) : null
  }
}
