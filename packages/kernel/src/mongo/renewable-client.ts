import { setTimeout as sleep } from 'node:timers/promises'
import type { MongoClient } from 'mongodb'
import { within } from '../within.ts'
import type { RenewalCause, RenewalGroup } from './renewal-group.ts'

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
  /** The connections that are replaced together with this one. */
  readonly group: RenewalGroup
}

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
  #isWatched = false
  #renewing = false
  #renewedAt = Number.NEGATIVE_INFINITY

  /** @throws SettingsError when the address cannot be used */
  constructor(options: RenewableClientOptions) {
    this.#options = options
    this.#seen = options.fingerprint()
    this.#current = options.create()
    this.#open.add(this.#current)
    options.group.join((cause) => this.renew(cause))
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
      this.#options.group.logFailure(error, 'files_changed')
    }
  }

  /** Follows the address and its files from now on. */
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
   * Replaces the client, and all others of its group, as soon as a new one can be connected; tries again until then. One
   * replacement at a time. Before the client was watched it does nothing: it is still being opened.
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

  /** Resolves within a second, also when the server does not answer any more. */
  async close(): Promise<void> {
    this.#closing.abort()
    // It tells the server of its sessions; a server that is away would hold up an orderly stop for seconds.
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
    await within(client.close(), CLOSE_MS).catch(() => undefined)
  }

  #pause(ms: number): Promise<void> {
    return sleep(Math.max(0, ms), undefined, { ref: false, signal: this.#closing.signal }).catch(() => undefined)
  }
}
