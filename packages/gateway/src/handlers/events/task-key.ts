import { hash } from 'node:crypto'

/** What identifies a task: an event for one handler. */
export interface TaskId {
  readonly provider: string
  readonly eventId: string
  readonly handler: string
}

// A key is also the value of a header, which has visible ASCII characters only. The percent sign is escaped too, so that
// different ids never have the same key. So is the dot: Standard Webhooks signs `<id>.<timestamp>.<body>`, and with a dot
// in the id, one text could be read as that of another id.
const ESCAPED = /[^\x21-\x7e]|[%.]/gu
// With the names of the provider and the handler, a key then has at most 600 bytes.
const MOST_LENGTH = 472

/**
 * The key of a task, the same at every attempt and replay: `<provider>:<event id>:<handler>`. Spaces, percent signs, dots
 * and characters beyond ASCII are percent-encoded as UTF-8. If that becomes too long, the SHA-256 of the id takes its
 * place. The names of providers and handlers contain no colon and no dot, so different tasks have different keys.
 */
export function taskKey({ provider, eventId, handler }: TaskId): string {
  const id = eventId.replaceAll(ESCAPED, percentEncode)
  return `${provider}:${id.length > MOST_LENGTH ? hash('sha256', eventId) : id}:${handler}`
}

function percentEncode(character: string): string {
  return character === '.' ? '%2E' : encodeURIComponent(character)
}
