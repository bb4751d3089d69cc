/** Requests to stop a running system, from a person, a supervisor or the death of the parent. */
export interface StopSignals {
  /** Aborted at the first request to stop. */
  readonly stop: AbortSignal
  /** Aborted at the second request. */
  readonly hurry: AbortSignal
}

// npm and a terminal may both forward the same Ctrl-C.
const SAME_REQUEST_MS = 300
const PARENT_POLL_MS = 500

/** Listens to SIGINT, SIGTERM and SIGHUP, and watches the parent: if `npm start` is killed, the system stops too. */
export function listenForStop(): StopSignals {
  const stop = new AbortController()
  const hurry = new AbortController()
  let askedAt = 0
  const ask = (): void => {
    if (!stop.signal.aborted) {
      askedAt = performance.now()
      stop.abort(new Error('Stopped before it was ready'))
    } else if (performance.now() - askedAt > SAME_REQUEST_MS) hurry.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, ask)
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    ask()
  }, PARENT_POLL_MS).unref()
  return { stop: stop.signal, hurry: hurry.signal }
}
