import { MongoServerError } from 'mongodb'

const PATIENCE_MS = 10_000
const ASK_MS = 1_000
// Unauthorized and AuthenticationFailed.
const REFUSALS: ReadonlySet<unknown> = new Set([13, 18])

/** Whether the server refuses the user of a connection: its name, its password or its rights. */
function isRefused(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  // The driver ends commands that wait for a connection with errors whose cause is the refusal.
  return [error, error.cause].some((one) => one instanceof MongoServerError && REFUSALS.has(one.code))
}

/** Decides whether a refusal is final, by the errors of commands that fail one after the other. */
export class RefusedCredentials {
  readonly #now: () => number
  #since: number | null = null

  /** `now` is monotonic milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Whether this error is a refusal, ten seconds or more after the first one. */
  isFinal(error: unknown): boolean {
    if (!isRefused(error)) return false
    this.#since ??= this.#now()
    return this.#now() - this.#since >= PATIENCE_MS
  }
}

export interface CredentialsWatch {
  readonly ask: () => Promise<void>
  /** Called once the credentials have been refused for ten seconds in a row. */
  readonly onRefused: (error: unknown) => void
  readonly isStopping: () => boolean
  /** Monotonic milliseconds. */
  readonly now: () => number
  readonly sleep: (ms: number) => Promise<void>
}

/**
 * Notices that the database refuses the credentials of this process. A process does not read them again: it ends, and its
 * supervisor starts it with those that are valid by then. Pass every error of the database to the returned function. A single
 * refusal may concern a single right, so the first one only begins to ask, once a second. It ends with the first command that
 * succeeds. Asking all the time would keep an idle database busy.
 */
export function watchCredentials({
  ask,
  onRefused,
  isStopping,
  now,
  sleep,
}: CredentialsWatch): (error: unknown) => void {
  let asking = false
  const askAgain = async (first: unknown): Promise<void> => {
    const refused = new RefusedCredentials(now)
    for (let error = first; error !== null && !isStopping(); error = await failureOf(ask)) {
      if (refused.isFinal(error)) {
        onRefused(error)
        return
      }
      await sleep(ASK_MS)
    }
    asking = false
  }
  return (error) => {
    if (asking || !isRefused(error)) return
    asking = true
    void askAgain(error)
  }
}

async function failureOf(ask: () => Promise<void>): Promise<unknown> {
  try {
    await ask()
    return null
  } catch (error) {
    return error
  }
}
