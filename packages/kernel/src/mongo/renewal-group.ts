import type { Logger } from '../logger.ts'
import { SettingsError } from '../settings.ts'
import { errorClass } from './write-outcome.ts'

/** Why a client is replaced: the server has signed its connections out, or its address or files have changed. */
export type RenewalCause = 'signed_out' | 'files_changed'

/**
 * The connections of one service to one database. What signs one of them out concerns all, so they are replaced together, and
 * the log has one line for it, whichever of them noticed it first.
 */
export class RenewalGroup {
  readonly #logger: Logger
  readonly #database: string
  readonly #members: ((cause: RenewalCause) => void)[] = []
  readonly #failures = new Set<string>()
  #underWay = 0
  #isLogged = false

  /** `database` names the connections in the log. */
  constructor({ logger, database }: { readonly logger: Logger; readonly database: string }) {
    this.#logger = logger
    this.#database = database
  }

  /** Adds a connection: `renew` replaces it, unless that is under way. */
  join(renew: (cause: RenewalCause) => void): void {
    this.#members.push(renew)
  }

  /** A connection is to be replaced: the others follow. Each begin has its end. */
  begin(cause: RenewalCause): void {
    this.#underWay += 1
    for (const renew of this.#members) renew(cause)
  }

  /** The first attempt of a connection begins. */
  logBegin(cause: RenewalCause): void {
    if (this.#isLogged) return
    this.#isLogged = true
    this.#logger.warn({ database: this.#database, cause }, 'mongodb.renewing')
  }

  /** An attempt failed: logged once for each reason, until all are replaced. */
  logFailure(error: unknown, cause: RenewalCause): void {
    const isOurs = error instanceof SettingsError
    const kind = isOurs ? error.message : errorClass(error)
    if (this.#failures.has(kind)) return
    this.#failures.add(kind)
    const why = isOurs ? { problems: error.problems } : { error }
    this.#logger.error({ database: this.#database, cause, ...why }, 'mongodb.renewal-failed')
  }

  /** A connection was replaced; not where the service stops meanwhile. */
  end(cause: RenewalCause, isRenewed: boolean): void {
    this.#underWay -= 1
    if (this.#underWay > 0) return
    this.#isLogged = false
    this.#failures.clear()
    if (isRenewed) this.#logger.info({ database: this.#database, cause }, 'mongodb.renewed')
  }
}
