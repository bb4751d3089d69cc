import { invalidBody } from '@oncehook/kernel/error-codes'
import { parseStrictJson } from '@oncehook/kernel/strict-json'

/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Whether a JSON value is an object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Reads the bytes of an authentic delivery as JSON. Integers that a double would round become bigints, so that long ids
 * stay exact.
 * @throws invalidBody
 */
export function readJson(rawBody: Buffer): unknown {
  // Deeper than any payment, and shallow enough for every later reader.
  return parseStrictJson(rawBody, { maxDepth: 512, bigIntegers: true })
}

/**
 * The same for a body that must be one object.
 * @throws invalidBody
 */
export function readJsonObject(rawBody: Buffer): JsonObject {
  const value = readJson(rawBody)
  if (!isObject(value)) throw invalidBody({ reason: 'not an object' }, { message: 'The body is not a JSON object' })
  return value
}
