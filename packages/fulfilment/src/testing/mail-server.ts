import type { AddressInfo, Socket } from 'node:net'
import { SMTPServer } from 'smtp-server'

/** Where a mail server fails: by an answer of this code, or by going away instead of answering. */
export interface MailFaults {
  readonly recipient?: number
  readonly data?: number | 'hang up'
  /** Runs when the server has read a mail, before it answers; says how many it has read. */
  readonly beforeAnswer?: (read: number) => Promise<unknown>
}

/** A mail server on this machine. */
export interface MailServer extends AsyncDisposable {
  readonly url: URL
  /** The mails that it answered for, oldest first. */
  readonly taken: readonly { readonly to: readonly string[]; readonly mail: string }[]
}

/** Starts a mail server that keeps what it takes, and fails where it is told to. */
export async function startMailServer({ recipient, data, beforeAnswer }: MailFaults = {}): Promise<MailServer> {
  const taken: { to: string[]; mail: string }[] = []
  const sockets: Socket[] = []
  let read = 0
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    logger: false,
    closeTimeout: 100,
    onRcptTo: (_, __, callback) => callback(recipient === undefined ? null : refusal(recipient)),
    async onData(stream, session, callback) {
      const mail = Buffer.concat(await stream.toArray()).toString()
      read += 1
      await beforeAnswer?.(read)
      if (data === 'hang up') return sockets.forEach((socket) => void socket.destroy())
      if (data !== undefined) return callback(refusal(data))
      taken.push({ to: session.envelope.rcptTo.map(({ address }) => address), mail })
      callback()
    },
  })
  server.on('error', () => undefined)
  server.server.on('connection', (socket: Socket) => void sockets.push(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  return {
    url: new URL(`smtp://127.0.0.1:${port}`),
    taken,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

function refusal(code: number): Error {
  return Object.assign(new Error('No'), { responseCode: code })
}
