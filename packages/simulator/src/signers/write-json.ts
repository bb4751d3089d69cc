/** The bytes of a value as JSON without whitespace. */
export function writeJson(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}
