import { invalidBody } from '@oncehook/kernel/http/error-codes'
import { parseStrictJson } from '@oncehook/kernel/http/strict-json'

/** How many levels the body of a delivery may have: more than any payment has, and few enough for every later reader. */
export const DELIVERY_DEPTH = 512

export type JsonObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Reads the bytes of an authentic delivery as JSON. Integers that a double would round become bigints, so that long ids
 * stay exact.
 * @throws invalidBody
 */
export function readJson(rawBody: Buffer, maxDepth = DELIVERY_DEPTH): unknown {
  return parseStrictJson(rawBody, { maxDepth, bigIntegers: true })
}

/** @throws invalidBody */
export function readJsonObject(rawBody: Buffer, maxDepth = DELIVERY_DEPTH): JsonObject {
  const value = readJson(rawBody, maxDepth)
  if (!isObject(value)) throw invalidBody({ reason: 'not an object' }, { message: 'The body is not a JSON object' })
  return value
}
