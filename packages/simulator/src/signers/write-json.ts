/** The bytes of a value as JSON without blanks. */
export function writeJson(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}
