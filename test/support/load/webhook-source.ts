import { setTimeout as sleep } from 'node:timers/promises'
import type { Message, PaymentProvider } from '@oncehook/simulator/payment-provider'
import type { TamperedPart } from '@oncehook/simulator/tampering'
import type { PaymentEvent } from '@oncehook/webhooks/signing/payment-event'

/** An event that the source sends, and every answer it got: a status, or null where none came. */
export interface SentEvent {
  readonly event: PaymentEvent
  readonly message: Message
  /** Tampered with on purpose: it must never be accepted, and is not sent again. */
  readonly tampered: TamperedPart | undefined
  readonly answers: (number | null)[]
}

/** How the source sends: deliveries begun per second, and how many may be in progress. */
export interface SourcePace {
  readonly perSecond: number
  readonly parallel: number
}

/**
 * A provider that keeps its promise: it delivers every event until it is answered 200, at a steady pace, and remembers
 * what it sent and the answers. The closing check compares everything else with its log.
 */
export class WebhookSource implements AsyncDisposable {
  readonly #provider: PaymentProvider
  readonly #pace: SourcePace
  readonly #events = new Map<string, SentEvent>()
  readonly #queue: SentEvent[] = []
  readonly #waiting = new Map<PromiseWithResolvers<void>, () => boolean>()
  #underWay = 0
  #running: Promise<void> | undefined
  #stopped = false
  #accepted = 0
  #due = 0

  constructor(provider: PaymentProvider, pace: SourcePace) {
    this.#provider = provider
    this.#pace = pace
  }

  /** Every event that was sent or will be sent, once each. */
  get log(): readonly SentEvent[] {
    return [...this.#events.values()]
  }

  /** How many deliveries were answered with 200. */
  get accepted(): number {
    return this.#accepted
  }

  /** How many deliveries are yet to be sent or answered. */
  get left(): number {
    return this.#queue.length + this.#underWay
  }

  /** Puts a delivery at the end of the queue; the same event may be put there several times. */
  add(event: PaymentEvent, tampered?: TamperedPart): void {
    const known = this.#events.get(event.id)
    const sent = known ?? { event, message: this.#provider.write(event), tampered, answers: [] }
    this.#events.set(event.id, sent)
    this.#queue.push(sent)
  }

  /** Resolves when this number of deliveries has been answered with 200. Throws if a run ends before. */
  async untilAccepted(count: number): Promise<void> {
    await this.#until(() => this.#accepted >= count)
  }

  /** Resolves when at most this number of deliveries is still to be sent or answered. */
  async untilLeft(count: number): Promise<void> {
    await this.#until(() => this.left <= count)
  }

  /** Delivers all that is queued; resolves when everything genuine was answered with 200. May be run again after that. */
  run(): Promise<void> {
    this.#running ??= this.#send().finally(() => {
      this.#running = undefined
      for (const waiter of this.#waiting.keys()) {
        waiter.reject(new Error(`The load ended with ${this.#accepted} deliveries accepted: more were waited for`))
      }
      this.#waiting.clear()
    })
    return this.#running
  }

  /** Gives up what is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  async #send(): Promise<void> {
    this.#due = performance.now()
    while (this.#underWay > 0 || (this.#queue.length > 0 && !this.#stopped)) {
      if (!this.#begin()) await sleep(1)
    }
  }

  async #until(isReached: () => boolean): Promise<void> {
    if (isReached()) return
    const waiter = Promise.withResolvers<void>()
    this.#waiting.set(waiter, isReached)
    await waiter.promise
  }

  /** Begins the next delivery when it is due. An empty queue is not late: later deliveries keep the pace. */
  #begin(): boolean {
    if (this.#queue.length === 0) this.#due = Math.max(this.#due, performance.now())
    const mayBegin = performance.now() >= this.#due && this.#underWay < this.#pace.parallel && !this.#stopped
    const next = mayBegin ? this.#queue.shift() : undefined
    if (next === undefined) return false
    this.#due += 1_000 / this.#pace.perSecond
    void this.#deliver(next)
    return true
  }

  async #deliver(sent: SentEvent): Promise<void> {
    this.#underWay += 1
    const { status } = await this.#provider.deliver(sent.message, sent.tampered)
    this.#underWay -= 1
    sent.answers.push(status)
    if (status === 200) this.#accepted += 1
    else if (sent.tampered === undefined) this.#queue.push(sent)
    for (const [waiter, isReached] of this.#waiting) {
      if (!isReached()) continue
      this.#waiting.delete(waiter)
      waiter.resolve()
    }
  }
}
