import type { Logger } from './logger.ts'

/**
 * How Node runs the services. Node 24 lets the young generation of the heap grow to 128 MiB under load, several times of
 * what deliveries in flight need; with two halves of 8 MiB the throughput is the same.
 */
export const HEAP_FLAGS = ['--max-semi-space-size=8'] as const

/**
 * Bounds the young generation of this process, however it was started. V8 takes the bound at its start only, so Node is
 * started again in place of itself: the process keeps its id, its standard streams, its environment and its parent. To be
 * called before anything is opened. Returns whether the bound holds: true where it is set already, on the command line or in
 * `NODE_OPTIONS`; false where it cannot be set, for instance because the parent talks to this process over a channel of
 * Node's, which would break.
 */
export function restartWithHeapFlags(process: NodeJS.Process): boolean {
  const { execArgv, argv, env, channel, execPath } = process
  const isSet = [...execArgv, env.NODE_OPTIONS ?? ''].some((option) => /max[-_]semi[-_]space[-_]size/.test(option))
  if (isSet) return true
  if (channel !== undefined || typeof process.execve !== 'function') return false
  return process.execve(
    execPath,
    [execPath, ...HEAP_FLAGS, ...execArgv, ...argv.slice(1)],
    env as Record<string, string>,
  )
}

/** Says how to bound the young generation where this process could not do it. */
export function warnOfUnboundHeap(logger: Logger): void {
  logger.warn({ nodeOptions: HEAP_FLAGS.join(' ') }, 'service.heap-not-bounded')
}
