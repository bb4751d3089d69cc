import { connect, type Socket } from 'node:net'

/** One answer as it came over the wire: status line, header lines in their order, body without its framing. */
export interface RawAnswer {
  readonly status: number
  readonly lines: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
}

/** What one connection brought back. */
export interface RawExchange {
  readonly octets: Buffer
  /** Whether the other side ended the connection before the deadline. */
  readonly closed: boolean
}

/** The octets to send; a function sends piece by piece and may wait in between. */
export type Octets = string | Buffer | ((socket: Socket) => Promise<void>)

const DEADLINE_MS = 4_000

/** Sends octets as they are and returns everything that comes back until the other side closes or the deadline passes. */
export function exchangeOctets(port: number, octets: Octets, deadlineMs = DEADLINE_MS): Promise<RawExchange> {
  return new Promise((resolve, reject) => {
    const received: Buffer[] = []
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
    const settle = (closed: boolean): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ octets: Buffer.concat(received), closed })
    }
    const timer = setTimeout(() => settle(false), deadlineMs)
    socket.on('data', (chunk) => received.push(chunk)).on('end', () => settle(true))
    // A reset after the answer counts as a close. Before any data, it is a fault of the test itself.
    socket.on('error', (error) => (received.length > 0 ? settle(true) : reject(error)))
    socket.on('connect', () => {
      if (typeof octets === 'function') octets(socket).catch(reject)
      else socket.write(octets, 'latin1')
    })
  })
}

/**
 * Reads all answers of a connection. `methods` are those of the requests that ask for a final answer, in their order: an
 * answer to HEAD has no body (RFC 9112 section 6.3).
 */
export function parseAnswers(octets: Buffer, methods: readonly string[]): RawAnswer[] {
  const answers: RawAnswer[] = []
  let rest = octets
  let asked = 0
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n')
    if (end === -1) throw new Error(`No whole header section: ${rest.toString('latin1')}`)
    const [statusLine = '', ...fields] = rest.toString('latin1', 0, end).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/.exec(statusLine)?.[1])
    if (Number.isNaN(status)) throw new Error(`No status line: ${statusLine}`)
    const lines = fields.map(parseField)
    const bodiless = status < 200 || status === 204 || status === 304 || methods[asked] === 'HEAD'
    const content = rest.subarray(end + 4)
    const { body, length } = bodiless ? { body: Buffer.alloc(0), length: 0 } : parseBody(content, lines)
    answers.push({ status, lines, body })
    if (status >= 200) asked += 1
    rest = content.subarray(length)
  }
  return answers
}

function parseField(field: string): [string, string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([^\r\n]*?)[ \t]*$/.exec(field) ?? []
  if (name === undefined || value === undefined) throw new Error(`No header line: ${field}`)
  return [name, value]
}

function parseBody(content: Buffer, lines: RawAnswer['lines']): { body: Buffer; length: number } {
  const valueFor = (wanted: string) => lines.find(([name]) => name.toLowerCase() === wanted)?.[1]
  if (valueFor('transfer-encoding') === 'chunked') return parseChunks(content)
  const length = Number(valueFor('content-length') ?? content.length)
  if (content.length < length) throw new Error(`A body of ${length} octets ended after ${content.length}`)
  return { body: content.subarray(0, length), length }
}

function parseChunks(content: Buffer): { body: Buffer; length: number } {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const end = content.indexOf('\r\n', at)
    const size = Number.parseInt(content.toString('latin1', at, end), 16)
    if (end === -1 || Number.isNaN(size)) throw new Error('A chunk is broken off')
    at = end + 2 + size + 2
    if (size === 0) return { body: Buffer.concat(chunks), length: at }
    chunks.push(content.subarray(end + 2, end + 2 + size))
  }
}
