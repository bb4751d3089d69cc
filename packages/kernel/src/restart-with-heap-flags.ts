import type { Logger } from './logger.ts'

/**
 * Node flags of the services. Under load, Node 24 lets the young generation grow to 128 MiB, several times the size
 * that deliveries in progress need. Two semi-spaces of 8 MiB give the same throughput.
 */
export const HEAP_FLAGS = ['--max-semi-space-size=8'] as const

/**
 * Limits the young generation of this process. V8 reads this limit only at its start, so Node re-executes itself: the
 * process keeps its id, standard streams, environment and parent. Call this before anything is opened. Returns true
 * if the limit is already set, on the command line or in `NODE_OPTIONS`. Returns false if it cannot be set, for
 * example because the parent uses a Node IPC channel, which would break.
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

/** Logs how to limit the young generation if this process could not do it. */
export function warnOfUnboundHeap(logger: Logger): void {
  logger.warn({ nodeOptions: HEAP_FLAGS.join(' ') }, 'service.heap-not-bounded')
}
