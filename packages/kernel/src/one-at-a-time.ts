/**
 * The same look, which at most once at a time is in progress. A caller that comes in the meantime gets the result of the
 * one in progress, so a slow database is not asked more often the more callers wait for it.
 */
export function oneAtATime<T>(look: () => Promise<T>): () => Promise<T> {
  let latest: Promise<T> | undefined
  return () => {
    latest ??= look().finally(() => {
      latest = undefined
    })
    return latest
  }
}
