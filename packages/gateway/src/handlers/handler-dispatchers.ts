import type { Dispatcher } from '@oncehook/queue/dispatch/dispatcher'
import type { SuspectTaker } from '@oncehook/queue/dispatch/suspects-lane'
import { FULFILMENT } from '../inbox/event-document.ts'
import type { TaskTaker } from '../inbox/inbox.ts'
import type { SentHandlers } from '../inbox/statistics/inbox-depth.ts'
import type { HandlerSettings, Handlers } from './handler-settings.ts'

export type HandlerDispatcher = TaskTaker & SuspectTaker & Pick<Dispatcher, 'isUp' | 'start' | 'stop'>

interface Running {
  readonly settings: HandlerSettings
  readonly dispatcher: HandlerDispatcher
}

/** One dispatcher for each handler. They follow the settings, and none of them waits for another. */
export class HandlerDispatchers {
  readonly #create: (handler: HandlerSettings) => HandlerDispatcher
  readonly #running = new Map<string, Running>()
  readonly #ending = new Set<HandlerDispatcher>()
  #isStarted = false

  constructor(create: (handler: HandlerSettings) => HandlerDispatcher) {
    this.#create = create
  }

  /**
   * Ends the dispatchers of handlers that are gone or have changed, and creates those that are missing. An old one holds the
   * tasks of its open calls until these end. So a new one sends neither these tasks nor later ones of their lines.
   */
  apply(handlers: Handlers): void {
    for (const [name, { settings, dispatcher }] of this.#running) {
      if (handlers.get(name)?.fingerprint === settings.fingerprint) continue
      this.#running.delete(name)
      this.#ending.add(dispatcher)
      void dispatcher.stop(dispatcher.lastsMs).finally(() => this.#ending.delete(dispatcher))
    }
    for (const handler of handlers.values()) {
      if (this.#running.has(handler.name)) continue
      const dispatcher = this.#create(handler)
      this.#running.set(handler.name, { settings: handler, dispatcher })
      if (this.#isStarted) dispatcher.start()
    }
  }

  takerOf(handler: string): HandlerDispatcher | undefined {
    return this.#running.get(handler)?.dispatcher
  }

  *running(): Generator<HandlerDispatcher> {
    for (const { dispatcher } of this.#running.values()) yield dispatcher
  }

  start(): void {
    this.#isStarted = true
    for (const { dispatcher } of this.#running.values()) dispatcher.start()
  }

  /** Resolves when all have released what they held, in a short time: those of earlier settings too. */
  async stop(): Promise<void> {
    for (const { dispatcher } of this.#running.values()) this.#ending.add(dispatcher)
    this.#running.clear()
    await Promise.all(Array.from(this.#ending, (dispatcher) => dispatcher.stop()))
  }
}

/** The handlers that an operator has paused, also removed ones, and then those that only their setting pauses. */
export function pausedHandlers(handlers: Handlers | undefined, byOperators: { keys(): Iterable<string> }): string[] {
  const bySetting = [...(handlers?.values() ?? [])].filter(({ paused }) => paused).map(({ name }) => name)
  return [...new Set([...byOperators.keys(), ...bySetting])]
}

/** The handlers whose tasks are sent now: fulfilment and the configured ones, except for those that are paused. */
export function sentHandlers(handlers: Handlers | undefined, paused: { has(handler: string): boolean }): SentHandlers {
  const configured = [...(handlers?.values() ?? [])].filter((one) => !one.paused && !paused.has(one.name))
  return [...(paused.has(FULFILMENT) ? [] : [FULFILMENT]), ...configured.map(({ name }) => name)]
}
