import type { Dispatcher } from '../dispatch/dispatcher.ts'
import type { Claim } from '../inbox/claims/claim.ts'
import type { HandlerSettings, Handlers } from './settings/read-handlers.ts'

/** A dispatcher, as far as its life depends on the settings. */
export type HandlerDispatcher = Pick<
  Dispatcher,
  'admits' | 'take' | 'doubt' | 'expect' | 'held' | 'isUp' | 'start' | 'stop'
>

interface Running {
  readonly fingerprint: string
  readonly dispatcher: HandlerDispatcher
}

/** One dispatcher for each handler. They follow the settings, and none of them waits for another. */
export class HandlerDispatchers {
  readonly #create: (handler: HandlerSettings) => HandlerDispatcher
  readonly #running = new Map<string, Running>()
  /** Those of earlier settings, until they have released what they hold. */
  readonly #ending = new Map<HandlerDispatcher, Promise<void>>()
  #isStarted = false

  constructor(create: (handler: HandlerSettings) => HandlerDispatcher) {
    this.#create = create
  }

  /** Ends the dispatchers of handlers that are gone or have changed, and creates those that are missing. */
  apply(handlers: Handlers): void {
    for (const [name, { fingerprint, dispatcher }] of this.#running) {
      if (handlers.get(name)?.fingerprint === fingerprint) continue
      this.#running.delete(name)
      this.#end(dispatcher)
    }
    for (const handler of handlers.values()) {
      if (this.#running.has(handler.name)) continue
      const dispatcher = this.#create(handler)
      this.#running.set(handler.name, { fingerprint: handler.fingerprint, dispatcher })
      if (this.#isStarted) dispatcher.start()
    }
  }

  /** The dispatcher of a handler. Undefined if the settings do not name it. */
  takerOf(handler: string): HandlerDispatcher | undefined {
    return this.#running.get(handler)?.dispatcher
  }

  /** The claims that all of them hold. */
  *held(): Generator<Claim> {
    for (const { dispatcher } of this.#running.values()) yield* dispatcher.held
    for (const dispatcher of this.#ending.keys()) yield* dispatcher.held
  }

  start(): void {
    this.#isStarted = true
    for (const { dispatcher } of this.#running.values()) dispatcher.start()
  }

  /** Resolves when all have released what they held, in a limited time. */
  async stop(): Promise<void> {
    this.apply(new Map())
    await Promise.all(this.#ending.values())
  }

  #end(dispatcher: HandlerDispatcher): void {
    const ended = dispatcher.stop().finally(() => this.#ending.delete(dispatcher))
    this.#ending.set(dispatcher, ended)
  }
}
