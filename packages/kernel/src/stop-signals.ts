/**
 * The signals that stop a service in order: those of supervisors, of a terminal's Ctrl-C, and of a terminal that is closed.
 */
export const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/**
 * Ends this process with 0 at a signal that comes before `runService` listens: nothing is open by then. Without it the
 * system would end the process by the signal, and as the first process of a container it would not hear it at all. To be
 * called before anything is loaded that takes time, and not before `restartWithHeapFlags`.
 */
export function endAtSignals(process: NodeJS.Process): void {
  for (const signal of STOP_SIGNALS) process.on(signal, endAtOnce)
}

/** The signals are somebody else's from now on. */
export function leaveSignals(process: NodeJS.Process): void {
  for (const signal of STOP_SIGNALS) process.off(signal, endAtOnce)
}

function endAtOnce(): never {
  process.exit(0)
}
