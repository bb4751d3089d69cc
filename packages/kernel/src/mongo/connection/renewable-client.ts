import { setTimeout as sleep } from 'node:timers/promises'
import type { MongoClient } from 'mongodb'
import { withTimeout } from '../../with-timeout.ts'
import type { RenewalCause, RenewalGroup } from './renewal-group.ts'

/** Dependencies of a renewable client. */
export interface RenewableClientOptions {
  /**
   * Creates an unconnected client from the current URL and files.
   * @throws SettingsError
   */
  readonly create: () => MongoClient
  /** Identifies the current content of the URL and its files. */
  readonly fingerprint: () => string
  /** Connects a client and checks its server. Throws if the client must not be used. */
  readonly verify: (client: MongoClient) => Promise<void>
  /** The connections that are replaced together with this one. */
  readonly group: RenewalGroup
}

const WATCH_MS = 1_000
const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 5_000
// Minimum time between two replacements, so that few clients exist at the same time.
const PAUSE_MS = 5_000
// Longer than any command, so that running commands finish.
const GRACE_MS = 12_000
const CLOSE_MS = 800

/**
 * A client that can be replaced while it is in use. The new client is connected and checked before it takes over. The
 * old one is closed after its last commands.
 */
export class RenewableClient {
  readonly #options: RenewableClientOptions
  readonly #closing = new AbortController()
  readonly #open = new Set<MongoClient>()
  #current: MongoClient
  #seen: string
  #isWatched = false
  #renewing = false
  #renewedAt = Number.NEGATIVE_INFINITY

  /** @throws SettingsError if the URL is invalid */
  constructor(options: RenewableClientOptions) {
    this.#options = options
    this.#seen = options.fingerprint()
    this.#current = options.create()
    this.#open.add(this.#current)
    options.group.join((cause) => this.renew(cause))
  }

  /** The current client. */
  get current(): MongoClient {
    return this.#current
  }

  /** Replaces a client that never connected, if its URL or files have changed. */
  refresh(): void {
    const seen = this.#options.fingerprint()
    if (seen === this.#seen || this.#closing.signal.aborted) return
    this.#seen = seen
    try {
      this.#takeOver(this.#options.create(), 0)
    } catch (error) {
      this.#options.group.logFailure(error, 'files_changed')
    }
  }

  /** Starts watching the URL and its files. */
  watch(): void {
    this.#isWatched = true
    const timer = setInterval(() => {
      const seen = this.#options.fingerprint()
      if (seen === this.#seen || this.#renewing) return
      this.renew('files_changed')
    }, WATCH_MS)
    timer.unref()
    this.#closing.signal.addEventListener('abort', () => clearInterval(timer))
  }

  /**
   * Replaces the client and all others of its group as soon as a new one can connect, and retries until then. Only
   * one replacement runs at a time. Does nothing before `watch`, because the client is still being opened.
   */
  renew(cause: RenewalCause): void {
    if (!this.#isWatched || this.#renewing || this.#closing.signal.aborted) return
    const { group } = this.#options
    this.#renewing = true
    group.begin(cause)
    void this.#renew(cause).then((isRenewed) => {
      this.#renewing = false
      group.end(cause, isRenewed)
    })
  }

  /** Resolves within a second, even if the server does not respond. */
  async close(): Promise<void> {
    this.#closing.abort()
    // Closing ends the server sessions. An unavailable server would delay the shutdown by seconds.
    await Promise.all(Array.from(this.#open, (client) => this.#end(client)))
  }

  async #renew(cause: RenewalCause): Promise<boolean> {
    const { group } = this.#options
    await this.#pause(this.#renewedAt + PAUSE_MS - performance.now())
    for (let tries = 0; !this.#closing.signal.aborted; tries += 1) {
      group.logBegin(cause)
      const failure = await this.#attempt()
      if (this.#closing.signal.aborted) return false
      if (failure === null) return true
      group.logFailure(failure.error, cause)
      await this.#pause(Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** tries))
    }
    return false
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

  #takeOver(fresh: MongoClient, graceMs: number): void {
    const old = this.#current
    this.#open.add(fresh)
    this.#current = fresh
    void this.#pause(graceMs).then(() => this.#end(old))
  }

  async #end(client: MongoClient): Promise<void> {
    this.#open.delete(client)
    await withTimeout(client.close(), CLOSE_MS).catch(() => undefined)
  }

  #pause(ms: number): Promise<void> {
    return sleep(Math.max(0, ms), undefined, { ref: false, signal: this.#closing.signal }).catch(() => undefined)
  }
}
