import { once } from 'node:events'
import { createServer } from 'node:net'

/** Held until it is disposed of, or until its process ends in any way. */
export type FileLock = AsyncDisposable

const NO_LOCK: FileLock = { async [Symbol.asyncDispose]() {} }

/**
 * Tries to become the only process that holds this name. Null if another process holds it. The lock is an abstract
 * Linux socket (unix(7)). Processes in one network namespace share it, and it disappears when its process ends.
 * Systems without abstract sockets have no lock.
 */
export async function tryLock(name: string): Promise<FileLock | null> {
  // Any process on the machine can connect, and an open connection would delay the release.
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
