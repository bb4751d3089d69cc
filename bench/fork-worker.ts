// Forks a process of the benchmark, and speaks with it in orders and answers.
import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** A process of the benchmark that takes one order at a time. */
export interface Worker<Order extends object> {
  readonly child: ChildProcess
  /** The first message of the process. */
  readonly greeting: unknown
  /** Sends an order. Resolves to the answer; rejects when the process ends instead. */
  ask(order: Order): Promise<unknown>
}

/** The options of Node.js, and the arguments of the command line. */
interface WorkerOptions extends ForkOptions {
  readonly args?: readonly string[]
}

/** Starts a process of the benchmark from the URL of its file, and waits until it says that it is ready. */
export async function forkWorker<Order extends object>(
  url: string,
  { args = [], ...options }: WorkerOptions = {},
): Promise<Worker<Order>> {
  const child = fork(fileURLToPath(url), args, options)
  // The caller that waits for a message gets this error. Without a listener, it would end the process.
  child.on('error', () => undefined)
  return {
    child,
    greeting: await nextMessage(child),
    ask(order) {
      child.send(order)
      return nextMessage(child)
    },
  }
}

/** Ends a child by SIGTERM and waits until it is gone. */
export async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill()
  await ended
}

function nextMessage(child: ChildProcess): Promise<unknown> {
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
