import { setTimeout as sleep } from 'node:timers/promises'
import type { MongoClient } from 'mongodb'
import type { Logger } from '../logger.ts'
import { SettingsError } from '../settings.ts'
import { within } from '../within.ts'
import { errorClass } from './write-outcome.ts'

/** What a renewable client works with. */
export interface RenewableClientOptions {
  /**
   * Makes a client from the address and the files as they are now; it is not connected yet.
   * @throws SettingsError
   */
  readonly create: () => MongoClient
  /** Tells one content of the address and its files from another. */
  readonly fingerprint: () => string
  /** Connects a client and checks what it has reached; throws when it is not to be used. */
  readonly verify: (client: MongoClient) => Promise<void>
  readonly logger: Logger
  /** Names the connection in the log. */
  readonly database: string
}

/** Why a client is replaced: the server has signed its connections out, or its address or files have changed. */
export type RenewalCause = 'signed_out' | 'files_changed'

const WATCH_MS = 1_000
const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 5_000
// At least as long lies between two replacements, so that few clients live at the same time.
const PAUSE_MS = 5_000
// Longer than any command: what is under way ends well.
const GRACE_MS = 12_000
const CLOSE_MS = 800

/**
 * A client that can be replaced while it is used: a new one is connected and checked first, then it takes over, and the
 * old one is closed when its last commands are over.
 */
export class RenewableClient {
  readonly #options: RenewableClientOptions
  readonly #closing = new AbortController()
  readonly #open = new Set<MongoClient>()
  #current: MongoClient
  #seen: string
  #renewing = false
  #renewedAt = Number.NEGATIVE_INFINITY

  /** @throws SettingsError when the address cannot be used */
  constructor(options: RenewableClientOptions) {
    this.#options = options
    this.#seen = options.fingerprint()
    this.#current = options.create()
    this.#open.add(this.#current)
  }

  /** The client that counts now. */
  get current(): MongoClient {
    return this.#current
  }

  /** Replaces a client that was never of use, when its address or its files have changed. */
  refresh(): void {
    const seen = this.#options.fingerprint()
    if (seen === this.#seen || this.#closing.signal.aborted) return
    this.#seen = seen
    try {
      this.#takeOver(this.#options.create(), 0)
    } catch (error) {
      this.#logFailure(error, 'files_changed')
    }
  }

  /** Follows the address and its files from now on. */
  watch(): void {
    const timer = setInterval(() => {
      const seen = this.#options.fingerprint()
      if (seen === this.#seen || this.#renewing) return
      this.renew('files_changed')
    }, WATCH_MS)
    timer.unref()
    this.#closing.signal.addEventListener('abort', () => clearInterval(timer))
  }

  /** Replaces the client, as soon as a new one can be connected; tries again until then. One replacement at a time. */
  renew(cause: RenewalCause): void {
    if (this.#renewing || this.#closing.signal.aborted) return
    this.#renewing = true
    void this.#renew(cause).finally(() => {
      this.#renewing = false
    })
  }

  /** Resolves within a second, also when the server does not answer any more. */
  async close(): Promise<void> {
    this.#closing.abort()
    // It tells the server of its sessions; a server that is away would hold up an orderly stop for seconds.
    await Promise.all(Array.from(this.#open, (client) => this.#end(client)))
  }

  async #renew(cause: RenewalCause): Promise<void> {
    const { logger, database } = this.#options
    await this.#pause(this.#renewedAt + PAUSE_MS - performance.now())
    logger.warn({ database, cause }, 'mongodb.renewing')
    let logged = ''
    for (let tries = 0; !this.#closing.signal.aborted; tries += 1) {
      const failure = await this.#attempt()
      if (failure === null) {
        logger.info({ database, cause }, 'mongodb.renewed')
        return
      }
      const kind = failure.error instanceof SettingsError ? failure.error.message : errorClass(failure.error)
      if (kind !== logged && !this.#closing.signal.aborted) this.#logFailure(failure.error, cause)
      logged = kind
      await this.#pause(Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** tries))
    }
  }

  async #attempt(): Promise<{ readonly error: unknown } | null> {
    let fresh: MongoClient | undefined
    try {
      this.#seen = this.#options.fingerprint()
      fresh = this.#options.create()
      this.#open.add(fresh)
      await this.#options.verify(fresh)
      if (this.#closing.signal.aborted) return null
      this.#takeOver(fresh, GRACE_MS)
      this.#renewedAt = performance.now()
      return null
    } catch (error) {
      if (fresh !== undefined) void this.#end(fresh)
      return { error }
    }
  }

  #logFailure(error: unknown, cause: RenewalCause): void {
    const { logger, database } = this.#options
    const why = error instanceof SettingsError ? { problems: error.problems } : { error }
    logger.error({ database, cause, ...why }, 'mongodb.renewal-failed')
  }

  #takeOver(fresh: MongoClient, graceMs: number): void {
    const old = this.#current
    this.#open.add(fresh)
    this.#current = fresh
    void this.#pause(graceMs).then(() => this.#end(old))
  }

  async #end(client: MongoClient): Promise<void> {
    this.#open.delete(client)
    await within(client.close(), CLOSE_MS).catch(() => undefined)
  }

  #pause(ms: number): Promise<void> {
    return sleep(Math.max(0, ms), undefined, { ref: false, signal: this.#closing.signal }).catch(() => undefined)
  }
}
