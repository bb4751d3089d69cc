import { endOfText, type HandlerEvent, readEvent } from '../handler-event.ts'
import { decodeText, parseObject, parseObjectStrictly } from '../json-text.ts'

const MOST_EVENTS = 500
// As the gateway writes keys: at most 600 bytes, everything else percent-encoded.
const KEY = /^[\x21-\x7e]{1,600}$/

/**
 * Reads the events of a batch. One that is not valid is null: it does not concern the others. Returns null if the batch as a whole is
 * not valid, or is for another handler than `audience`. Default: any.
 */
export function readBatch(body: Uint8Array, audience?: string): readonly (HandlerEvent | null)[] | null {
  const text = decodeText(body, { ignoreBOM: true })
  const { handler, events } = (text === null ? null : parseObject(text)) ?? {}
  if (text === null || typeof handler !== 'string' || !Array.isArray(events)) return null
  if (audience !== undefined && handler !== audience) return null
  const texts = splitEvents(text)
  const isWhole = texts.length === events.length && texts.length > 0 && texts.length <= MOST_EVENTS
  return isWhole ? texts.map(readOne) : null
}

function readOne(text: string): HandlerEvent | null {
  const body = Buffer.from(withoutAttempt(text))
  const known = parseObjectStrictly(body)
  if (known === null || typeof known.key !== 'string' || !KEY.test(known.key)) return null
  return readEvent(known.key, body)
}

/** The attempt is the only part that is not the same each time. The gateway writes it first. */
function withoutAttempt(text: string): string {
  const rest = text.replace(/^\{\s*"attempt"\s*:\s*\d+\s*,/, '{')
  if (rest !== text) return rest
  // Strictly: a value that is nested too deeply cannot be written again.
  const { attempt, ...others } = parseObjectStrictly(Buffer.from(text)) ?? {}
  return attempt === undefined ? text : JSON.stringify(others)
}

/**
 * Returns the texts of the objects in the list `events` of a JSON object, exactly as they were sent. The text must be a
 * valid JSON object. Own code, because JSON.parse does not say where a value is, and the hash of an event must
 * be that of the same event by `https`.
 */
export function splitEvents(json: string): readonly string[] {
  const walk = new Walk(json)
  const part = /["[\]{}]/g
  for (let found = part.exec(json); found !== null; found = part.exec(json)) {
    const { 0: character, index } = found
    if (character === '"') part.lastIndex = walk.passText(index)
    else if (character === '{' || character === '[') walk.open(character, index)
    else walk.close(index)
  }
  return walk.events
}

class Walk {
  events: string[] = []
  readonly #json: string
  #depth = 0
  #isInEvents = false
  /** Where the value at depth 3 began. */
  #start = 0
  /** The last text at depth 1, with its quotation marks. */
  #lastText = ''

  constructor(json: string) {
    this.#json = json
  }

  /** Returns the position after the text that begins here. */
  passText(start: number): number {
    const end = endOfText(this.#json, start)
    if (this.#depth === 1) this.#lastText = this.#json.slice(start, end)
    return end
  }

  open(character: string, index: number): void {
    this.#depth += 1
    if (this.#depth === 3) this.#start = index
    if (this.#depth !== 2) return
    // The last text before a list at this depth is the name of the list.
    this.#isInEvents = character === '[' && this.#lastText === '"events"'
    if (this.#isInEvents) this.events = []
  }

  close(index: number): void {
    if (this.#depth === 3 && this.#isInEvents) this.events.push(this.#json.slice(this.#start, index + 1))
    this.#depth -= 1
  }
}
