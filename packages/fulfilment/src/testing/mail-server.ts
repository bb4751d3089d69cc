import type { AddressInfo, Socket } from 'node:net'
import { SMTPServer } from 'smtp-server'

/** How a mail server fails: it replies with this code, or disconnects without a reply. */
export interface MailFaults {
  readonly greeting?: number
  readonly sender?: number
  readonly recipient?: number
  /** The key and certificate for STARTTLS. Default: not offered. */
  readonly tls?: { readonly key: string; readonly cert: string }
  readonly data?: number | 'hang up'
  /** Called with the number of received mails after the server has read one and before it replies. */
  readonly beforeAnswer?: (read: number) => Promise<unknown>
}

export interface MailServer extends AsyncDisposable {
  readonly url: URL
  /** The mails it accepted, oldest first. */
  readonly taken: readonly { readonly to: readonly string[]; readonly mail: string; readonly secure: boolean }[]
}

/** Starts a mail server that keeps accepted mails and fails as configured. */
export async function startMailServer(faults: MailFaults = {}): Promise<MailServer> {
  const { data, beforeAnswer, tls } = faults
  const answer = (code: number | undefined) => (code === undefined ? null : refusal(code))
  const taken: { to: string[]; mail: string; secure: boolean }[] = []
  const sockets: Socket[] = []
  let read = 0
  const server = new SMTPServer({
    ...tls,
    disabledCommands: tls === undefined ? ['AUTH', 'STARTTLS'] : ['AUTH'],
    logger: false,
    closeTimeout: 100,
    onConnect: (_, callback) => callback(answer(faults.greeting)),
    onMailFrom: (_, __, callback) => callback(answer(faults.sender)),
    onRcptTo: (_, __, callback) => callback(answer(faults.recipient)),
    async onData(stream, session, callback) {
      const mail = Buffer.concat(await stream.toArray()).toString()
      read += 1
      await beforeAnswer?.(read)
      if (data === 'hang up') return sockets.forEach((socket) => void socket.destroy())
      if (data !== undefined) return callback(refusal(data))
      taken.push({ to: session.envelope.rcptTo.map(({ address }) => address), mail, secure: session.secure })
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
