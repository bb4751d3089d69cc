/** The signals that stop a service in order: from supervisors, from Ctrl-C, and from a closed terminal. */
export const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/**
 * Makes this process exit with 0 if a signal arrives before `runService` listens, when nothing is open yet. Otherwise
 * the signal would kill the process; the first process of a container would ignore it. Call this before anything is
 * loaded that takes time.
 */
export function endAtSignals(process: NodeJS.Process): void {
  for (const signal of STOP_SIGNALS) process.on(signal, endAtOnce)
}

/** `runService` handles the signals from now on. */
export function leaveSignals(process: NodeJS.Process): void {
  for (const signal of STOP_SIGNALS) process.off(signal, endAtOnce)
}

function endAtOnce(): never {
  process.exit(0)
}
