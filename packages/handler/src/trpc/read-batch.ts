import { TASK_DEPTH } from '@oncehook/kernel/delivery-depth'
import { parseStrictJson } from '@oncehook/kernel/strict-json'
import { type HandlerEvent, readEvent } from '../handler-event.ts'
import { splitEvents } from './split-events.ts'

/** An event of a call, and the body that it would have by `https`. */
export interface BatchEvent {
  readonly event: HandlerEvent
  readonly body: Uint8Array
}

const MOST_EVENTS = 500
// As the gateway writes keys: at most 600 bytes, everything else percent-encoded.
const KEY = /^[\x21-\x7e]{1,600}$/

/**
 * Reads the events of a call of `events.handle`. One that is not valid is null: it does not concern the others. Returns
 * null if the call as a whole is not valid, or is for another handler.
 */
export function readBatch(body: Uint8Array, audience: string): readonly (BatchEvent | null)[] | null {
  const text = decode(body)
  const call = text === null ? null : parse(text)
  if (text === null || call === null || call.handler !== audience || !Array.isArray(call.events)) return null
  const texts = splitEvents(text)
  const isWhole = texts.length === call.events.length && texts.length > 0 && texts.length <= MOST_EVENTS
  return isWhole ? texts.map(readOne) : null
}

function readOne(text: string): BatchEvent | null {
  const body = Buffer.from(withoutAttempt(text))
  const known = parseStrictly(body)
  if (known === null || typeof known.key !== 'string' || !KEY.test(known.key)) return null
  const event = readEvent(known.key, body)
  return event === null ? null : { event, body }
}

/** The attempt is the only part that is not the same each time. The gateway writes it first. */
function withoutAttempt(text: string): string {
  const rest = text.replace(/^\{\s*"attempt"\s*:\s*\d+\s*,/, '{')
  if (rest !== text) return rest
  // Strictly: a value that is nested too deeply cannot be written again.
  const { attempt, ...others } = parseStrictly(Buffer.from(text)) ?? {}
  return attempt === undefined ? text : JSON.stringify(others)
}

function parseStrictly(body: Uint8Array): Record<string, unknown> | null {
  try {
    return toObject(parseStrictJson(body, { maxDepth: TASK_DEPTH }))
  } catch {
    return null
  }
}

function decode(body: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
  } catch {
    return null
  }
}

function parse(text: string): Record<string, unknown> | null {
  try {
    return toObject(JSON.parse(text))
  } catch {
    return null
  }
}

function toObject(value: unknown): Record<string, unknown> | null {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as Record<string, unknown>) : null
}
