import { connect, type Socket } from 'node:net'

/** One kept-alive HTTP/1.1 connection, which carries one request at a time. */
export interface HttpConnection {
  /** Sends a request and resolves to the status of its answer; rejects if the connection ends first. */
  exchange(request: Buffer): Promise<number>
  close(): void
}

interface Waiter {
  readonly resolve: (status: number) => void
  readonly reject: (reason: Error) => void
}

/**
 * Creates a connection that opens at the first request, and reopens at the next request after it broke. It does as
 * little work as possible: the side that is measured cannot use processor time that the sender uses.
 */
export function createHttpConnection({ hostname, port }: URL): HttpConnection {
  let socket: Socket | null = null
  let received: Buffer | null = null
  let waiter: Waiter | null = null

  const end = (broken: Socket, reason: Error): void => {
    broken.destroy()
    if (socket !== broken) return
    socket = null
    received = null
    waiter?.reject(reason)
    waiter = null
  }
  const take = (from: Socket, chunk: Buffer): void => {
    received = received === null ? chunk : Buffer.concat([received, chunk])
    const answer = readAnswer(received)
    if (answer === null) return
    if (answer.bytes < received.length) throw new Error('The server said more than was asked')
    received = null
    const answered = waiter
    waiter = null
    if (answer.last) end(from, new Error('The server closed the connection'))
    answered?.resolve(answer.status)
  }
  const open = (): Socket => {
    const opened = connect({ host: hostname, port: Number(port), noDelay: true })
    opened.on('error', (error) => end(opened, error))
    opened.on('close', () => end(opened, new Error('The connection was closed')))
    opened.on('data', (chunk) => {
      try {
        take(opened, chunk)
      } catch (error) {
        end(opened, error instanceof Error ? error : new Error('The answer cannot be read'))
      }
    })
    return opened
  }
  return {
    exchange(request) {
      if (waiter !== null) return Promise.reject(new Error('The connection is busy'))
      socket ??= open()
      socket.write(request)
      return new Promise((resolve, reject) => {
        waiter = { resolve, reject }
      })
    },
    close() {
      if (socket !== null) end(socket, new Error('The connection was closed'))
    },
  }
}

const HEAD_END = '\r\n\r\n'

/**
 * Reads the answer at the beginning of `received` (RFC 9112); null means that more bytes are needed. It understands
 * only answers with a Content-Length, and the receivers of the benchmark send no others.
 */
export function readAnswer(received: Buffer): { status: number; bytes: number; last: boolean } | null {
  const headEnd = received.indexOf(HEAD_END)
  if (headEnd === -1) return null
  const head = received.toString('latin1', 0, headEnd)
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1])
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1])
  if (Number.isNaN(status) || Number.isNaN(length)) throw new Error('The answer has no status or no Content-Length')
  const bytes = headEnd + HEAD_END.length + length
  return received.length < bytes ? null : { status, bytes, last: /\r\nconnection: *close/i.test(head) }
}
