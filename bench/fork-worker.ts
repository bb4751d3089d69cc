import type { ChildProcess } from 'node:child_process'
import { type ForkOptions, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { nextMessage } from './next-message.ts'

/** A process of the benchmark that takes one order at a time. */
export interface Worker<Order extends object> {
  readonly child: ChildProcess
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
  { args = [], ...options }: WorkerOptions,
): Promise<Worker<Order>> {
  const child = fork(fileURLToPath(url), args, options)
  // The caller that waits for a message gets this error. Without a listener, it would end the process.
  child.on('error', () => undefined)
  await nextMessage(child)
  return {
    child,
    ask(order) {
      child.send(order)
      return nextMessage(child)
    },
  }
}
