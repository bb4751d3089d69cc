// Says every few seconds that something which takes long is still going on.
const AFTER_MS = 1_000
const EVERY_MS = 10_000

/** Writes one line for a person. */
export type Say = (line: string) => void

/** Waits for `work`. After a second, says what it is waiting for, and repeats that every ten seconds. */
export async function withProgress<T>(say: Say, what: string, work: Promise<T>): Promise<T> {
  const started = performance.now()
  const seconds = () => Math.round((performance.now() - started) / 1_000)
  const first = setTimeout(() => say(`${what} …`), AFTER_MS)
  const more = setInterval(() => say(`${what} … ${seconds()} s`), EVERY_MS)
  try {
    return await work
  } finally {
    clearTimeout(first)
    clearInterval(more)
  }
}
