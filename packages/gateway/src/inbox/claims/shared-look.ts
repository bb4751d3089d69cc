import { oneAtATime } from '@oncehook/kernel/log/polled-gauges'

/** What was seen, and how long ago, in milliseconds. */
export interface Seen<T> {
  readonly value: T
  readonly ageMs: number
}

/** A look at the database whose result serves several callers. */
export interface SharedLookDeps<T> {
  readonly look: () => Promise<T>
  /** How long a result is used again, in milliseconds. */
  readonly keepMs: (value: T) => number
  /** Milliseconds that never go backwards. */
  readonly now: () => number
}

/** Shares the result of a look for a time. While a look is in progress, all callers wait for it. */
export function shareLook<T>({ look, keepMs, now }: SharedLookDeps<T>): () => Promise<Seen<T>> {
  let latest: { readonly value: T; readonly at: number } | null = null
  const lookAgain = oneAtATime(async () => {
    const at = now()
    const value = await look()
    latest = { value, at }
    return { value, ageMs: now() - at }
  })
  return async () => {
    if (latest === null || now() - latest.at >= keepMs(latest.value)) return lookAgain()
    return { value: latest.value, ageMs: now() - latest.at }
  }
}
