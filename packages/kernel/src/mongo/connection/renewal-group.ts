import type { Logger } from '../../logger.ts'
import { SettingsError } from '../../settings.ts'
import { errorClass } from '../write-outcome.ts'

/** Why a client is replaced: the server signed its connections out, or its URL or files changed. */
export type RenewalCause = 'signed_out' | 'files_changed'

/**
 * The connections of one service to one database. An event that signs one of them out concerns all, so they are
 * replaced together. The log gets one line, whichever connection notices first.
 */
export class RenewalGroup {
  readonly #logger: Logger
  readonly #database: string
  readonly #members: ((cause: RenewalCause) => void)[] = []
  readonly #failures = new Set<string>()
  #underWay = 0
  #isLogged = false

  /** `database` identifies the connections in the log. */
  constructor({ logger, database }: { readonly logger: Logger; readonly database: string }) {
    this.#logger = logger
    this.#database = database
  }

  /** Adds a connection. `renew` replaces it unless a replacement is already running. */
  join(renew: (cause: RenewalCause) => void): void {
    this.#members.push(renew)
  }

  /** Starts the replacement of a connection, and therefore of the others. Each `begin` needs an `end`. */
  begin(cause: RenewalCause): void {
    this.#underWay += 1
    for (const renew of this.#members) renew(cause)
  }

  /** Logs the first attempt of a connection. */
  logBegin(cause: RenewalCause): void {
    if (this.#isLogged) return
    this.#isLogged = true
    this.#logger.warn({ database: this.#database, cause }, 'mongodb.renewing')
  }

  /** Logs a failed attempt, once per reason until all connections are replaced. */
  logFailure(error: unknown, cause: RenewalCause): void {
    const isOurs = error instanceof SettingsError
    const kind = isOurs ? error.message : errorClass(error)
    if (this.#failures.has(kind)) return
    this.#failures.add(kind)
    const why = isOurs ? { problems: error.problems } : { error }
    this.#logger.error({ database: this.#database, cause, ...why }, 'mongodb.renewal-failed')
  }

  /** Ends a replacement. `isRenewed` is false if the service stopped meanwhile. */
  end(cause: RenewalCause, isRenewed: boolean): void {
    this.#underWay -= 1
    if (this.#underWay > 0) return
    this.#isLogged = false
    this.#failures.clear()
    if (isRenewed) this.#logger.info({ database: this.#database, cause }, 'mongodb.renewed')
  }
}
