/**
 * Indents JSON without reading its values: numbers keep every digit, names their order, doubled names stay. Null if the
 * text is not JSON.
 */
export function indentJson(text: string): string | null {
  if (!isJson(text)) return null
  let depth = 0
  let previous = ''
  const written = (text.match(TOKEN) ?? []).map((part) => {
    if (CLOSING.has(part)) depth -= 1
    const line = startsLine(previous, part) ? `\n${'  '.repeat(depth)}` : ''
    if (OPENING.has(part)) depth += 1
    previous = part
    return line + (part === ':' ? ': ' : part)
  })
  return written.join('')
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
