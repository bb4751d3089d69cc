import { once } from 'node:events'
import { createServer } from 'node:net'

/** Held until it is disposed of, or its process ends in whatever way. */
export type FileLock = AsyncDisposable

const NO_LOCK: FileLock = { async [Symbol.asyncDispose]() {} }

/**
 * Tries to be the only process that holds this name; null where another one holds it. The name is an abstract socket of
 * Linux (unix(7)), so it is shared by the processes of one network namespace, and no death leaves it behind. Systems
 * without such sockets have no lock.
 */
export async function tryLock(name: string): Promise<FileLock | null> {
  // Any process of the machine can connect, and an open connection would delay the release.
  const server = createServer((stranger) => stranger.destroy()).unref()
  try {
    server.listen({ path: `\0${name}`, exclusive: true })
    await once(server, 'listening')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EADDRINUSE' ? null : NO_LOCK
  }
  return {
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
