import { invalidBody } from '@oncehook/kernel/http/error-codes'
import { parseStrictJson } from '@oncehook/kernel/http/strict-json'
import { DELIVERY_DEPTH, isObject, type JsonObject } from './json-object.ts'

const MOST_PARTS = 1_000

/** The object in bytes that nobody has proved yet; null if there is none, or more than its signature can need. */
export function readUnproved(bytes: Buffer): JsonObject | null {
  try {
    const value = parseStrictJson(bytes, { maxDepth: DELIVERY_DEPTH, bigIntegers: true, maxParts: MOST_PARTS })
    return isObject(value) ? value : null
  } catch (error) {
    if (invalidBody.is(error)) return null
    throw error
  }
}
