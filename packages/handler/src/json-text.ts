// What a sender may have written as it likes: each of these returns null for what it cannot read.
import { isObject, parseJson } from '@oncehook/kernel/http/json'
import { parseStrictJson } from '@oncehook/kernel/http/strict-json'
import { TASK_DEPTH } from '@oncehook/webhooks'

export type JsonObject = Record<string, unknown>

export function decodeText(bytes: Uint8Array, { ignoreBOM = false } = {}): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM }).decode(bytes)
  } catch {
    return null
  }
}

export function parseObject(text: string): JsonObject | null {
  const value = parseJson(text)
  return isObject(value) ? value : null
}

/** The same strictly. */
export function parseObjectStrictly(bytes: Uint8Array, { bigIntegers = false } = {}): JsonObject | null {
  try {
    const value = parseStrictJson(bytes, { bigIntegers, maxDepth: TASK_DEPTH })
    return isObject(value) ? value : null
  } catch {
    return null
  }
}
