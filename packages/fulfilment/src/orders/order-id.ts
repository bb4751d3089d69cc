const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'

/** Makes the id of an order: `ord_` and 26 characters of base32 (130 bits) from the given source of random bytes. */
export function createOrderId(randomBytes: (count: number) => Uint8Array): string {
  return `ord_${Array.from(randomBytes(26), (byte) => ALPHABET[byte & 31]).join('')}`
}
