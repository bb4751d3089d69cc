import { connect, createServer, type Socket } from 'node:net'

/**
 * A TCP proxy in front of a server. It can freeze like a stopped server: connections stay open, but nothing gets
 * through.
 */
export interface FreezingProxy extends AsyncDisposable {
  readonly port: number
  /** From now on nothing gets through, in either direction. */
  freeze(): void
}

/** Starts a proxy in front of a port of this machine. */
export async function startFreezingProxy(target: number): Promise<FreezingProxy> {
  const sockets = new Set<Socket>()
  let frozen = false
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => undefined).on('close', () => to.destroy())
      from.on('data', (chunk) => frozen || to.write(chunk))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port')
  return {
    port: address.port,
    freeze() {
      frozen = true
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
