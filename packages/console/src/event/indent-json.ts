/** The longest text to show indented, in characters. Browsers are slow to lay out longer texts. */
const MOST_WRITTEN = 1_000_000

/**
 * Indents JSON without reading its values: numbers keep all digits, names keep their order, and duplicate names are
 * kept. Null if the text is not JSON, or would be longer than a million characters.
 */
export function indentJson(text: string): string | null {
  if (text.length > MOST_WRITTEN || !isJson(text)) return null
  let depth = 0
  let previous = ''
  let written = ''
  for (const [part] of text.matchAll(TOKEN)) {
    depth -= Number(CLOSING.has(part))
    const line = startsLine(previous, part) ? `\n${'  '.repeat(depth)}` : ''
    depth += Number(OPENING.has(part))
    previous = part
    written += line + (part === ':' ? ': ' : part)
    if (written.length > MOST_WRITTEN) return null
  }
  return written
}

function startsLine(previous: string, part: string): boolean {
  if (OPENING.has(previous)) return !CLOSING.has(part)
  return previous === ',' || CLOSING.has(part)
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g
const OPENING: ReadonlySet<string> = new Set(['{', '['])
const CLOSING: ReadonlySet<string> = new Set(['}', ']'])

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
