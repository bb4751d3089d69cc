import type { ChildProcess } from 'node:child_process'

/** The next message of a child process; rejects when it ends instead. */
export function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const settle = (end: () => void): void => {
      child.off('message', onMessage).off('exit', onExit).off('error', reject)
      end()
    }
    const onMessage = (message: unknown): void => settle(() => resolve(message))
    const onExit = (code: number | null, signal: string | null): void =>
      settle(() => reject(new Error(`A process of the benchmark ended with ${code ?? signal}`)))
    child.on('message', onMessage).on('exit', onExit).on('error', reject)
  })
}
