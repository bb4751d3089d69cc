import { SigningError } from './signer.ts'

/**
 * The key in a base64 text, padded, in the standard alphabet and its one canonical form.
 * @throws SigningError when the text is anything else, or empty
 */
export function readBase64Secret(text: string): Buffer {
  const key = Buffer.from(text, 'base64')
  if (key.length === 0 || key.toString('base64') !== text) throw new SigningError('The secret is not base64')
  return key
}

/**
 * The key in a base64 text of either alphabet, with or without padding.
 * @throws SigningError when the text is anything else, or empty
 */
export function readAnyBase64Secret(text: string): Buffer {
  const plain = text.replace(/=+$/, '').replaceAll('-', '+').replaceAll('_', '/')
  return readBase64Secret(plain + '='.repeat((4 - (plain.length % 4)) % 4))
}

/**
 * The key in a hexadecimal text, either case.
 * @throws SigningError when the text is anything else, or empty
 */
export function readHexSecret(text: string): Buffer {
  const key = Buffer.from(text, 'hex')
  if (key.length === 0 || key.length * 2 !== text.length) throw new SigningError('The secret is not hexadecimal')
  return key
}
