import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A pipe of the usual 64 KiB, for the standard output of a process. Nobody reads it yet. */
export interface UnreadPipe extends Disposable {
  /** The blocking end to write to, as a shell would create it. */
  readonly writeEnd: number
  readonly lines: readonly string[]
  read(): void
  /** Closes both ends in this process. Further writes by others fail with EPIPE. */
  abandon(): void
}

export function openUnreadPipe(): UnreadPipe {
  const folder = mkdtempSync(join(tmpdir(), 'unread-pipe-'))
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const writeEnd = openSync(path, 'w')
  rmSync(folder, { recursive: true })
  let socket: Socket | undefined
  let isAbandoned = false
  const lines: string[] = []
  let begun = ''
  const abandon = (): void => {
    if (isAbandoned) return
    isAbandoned = true
    closeSync(writeEnd)
    if (socket === undefined) closeSync(readEnd)
    else socket.destroy()
  }
  return {
    writeEnd,
    lines,
    abandon,
    read() {
      socket = new Socket({ fd: readEnd, readable: true, writable: false }).setEncoding('utf8')
      socket.on('data', (text: string) => {
        const parts = `${begun}${text}`.split('\n')
        begun = parts.pop() ?? ''
        lines.push(...parts)
      })
    },
    [Symbol.dispose]: abandon,
  }
}
