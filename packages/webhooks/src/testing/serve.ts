import { once } from 'node:events'
import type { Server } from 'node:http'

/** A server on a port of this machine. */
export interface Served extends AsyncDisposable {
  readonly url: string
}

/** Makes a server listen on a free port of this machine. */
export async function serve(server: Server): Promise<Served> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server listens on no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
