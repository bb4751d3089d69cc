import { createHttpConnection, type HttpConnection } from './http-connection.ts'

/** The connections of a load. */
export interface Connections {
  readonly url: string
  readonly count: number
  /** Aborting it closes all connections, including those in use. */
  readonly over: AbortSignal
}

/** Does `work` on every connection at once and waits until all have ended. */
export async function onConnections(
  { url, count, over }: Connections,
  work: (connection: HttpConnection) => Promise<void>,
): Promise<void> {
  const connections = Array.from({ length: count }, () => createHttpConnection(new URL(url)))
  const close = (): void => {
    for (const connection of connections) connection.close()
  }
  over.addEventListener('abort', close, { once: true })
  try {
    await Promise.all(connections.map(work))
  } finally {
    over.removeEventListener('abort', close)
    close()
  }
}
