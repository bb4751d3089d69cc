import { decodeHex } from './signature.ts'

/** The bytes of padded, canonical base64 (RFC 4648 section 4), or null for anything else. */
export function decodeBase64(text: string): Buffer | null {
  if (text === '') return null
  const bytes = Buffer.from(text, 'base64')
  // The decoder is lenient. The encoder makes only one text from these bytes.
  return bytes.toString('base64') === text ? bytes : null
}

/** The bytes of base64 or base64url (RFC 4648 sections 4 and 5), with or without padding, or null for anything else. */
export function decodeAnyBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64')
  const [padded, urlSafe] = [bytes.toString('base64'), bytes.toString('base64url')]
  const padding = padded.slice(urlSafe.length)
  const forms = [padded, padded.slice(0, urlSafe.length), urlSafe, urlSafe + padding]
  return bytes.length > 0 && forms.includes(text) ? bytes : null
}

/** The bytes of hexadecimal digits, all in lower or all in upper case, or null for anything else. */
export function decodeAnyHex(text: string): Buffer | null {
  return decodeHex(/[a-z]/.test(text) ? text : text.toLowerCase())
}

export interface SignatureForm {
  readonly encoding: 'hex' | 'base64'
  readonly prefix?: string
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
