/** A complete answer: its status and its length in bytes. */
export interface Answer {
  readonly status: number
  readonly bytes: number
  /** The server closes the connection after it. */
  readonly last: boolean
}

const HEAD_END = '\r\n\r\n'

/**
 * Reads the answer at the beginning of `received` (RFC 9112); null means that more bytes are needed. It understands
 * only answers with a Content-Length, and the receivers of the benchmark send no others.
 */
export function readAnswer(received: Buffer): Answer | null {
  const headEnd = received.indexOf(HEAD_END)
  if (headEnd === -1) return null
  const head = received.toString('latin1', 0, headEnd)
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1])
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1])
  if (Number.isNaN(status) || Number.isNaN(length)) throw new Error('The answer has no status or no Content-Length')
  const bytes = headEnd + HEAD_END.length + length
  return received.length < bytes ? null : { status, bytes, last: /\r\nconnection: *close/i.test(head) }
}
