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

/** A walk through the text of a JSON object. */
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

/** The position after the closing quotation mark of a text. A mark after an odd number of backslashes is part of it. */
function endOfText(json: string, start: number): number {
  let at = json.indexOf('"', start + 1)
  while (isEscaped(json, at)) at = json.indexOf('"', at + 1)
  return at === -1 ? json.length : at + 1
}

function isEscaped(json: string, at: number): boolean {
  let first = at
  while (json[first - 1] === '\\') first -= 1
  return (at - first) % 2 === 1
}
