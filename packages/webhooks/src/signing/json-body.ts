/** The bytes of a value as JSON without whitespace. */
export function writeJson(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}

/** The object in a body; empty if the body is no JSON object, because any bytes may be signed. */
export function readJson(body: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString())
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
