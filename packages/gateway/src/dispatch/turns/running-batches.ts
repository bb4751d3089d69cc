import type { Room, Way } from '../waiting-claims.ts'
import type { Turn } from './process-turns.ts'

/** What running batches depend on. */
interface RunningBatchesDeps {
  /** Absent if it is the only dispatcher of its process. */
  readonly turn: Turn | undefined
  /** How many batches may wait for their outcomes to be written, beside those that are called. */
  readonly mostUnsettled: number
  /** Called when something that the dispatcher has to wait for has ended. */
  readonly wake: () => void
}

/** A batch that has begun. */
interface RunningBatch {
  readonly way: Way
  /** Resolves when it has been called: then another may take its place, unless it has suspects. */
  readonly called: Promise<unknown>
  /** Resolves when its outcomes are written. */
  readonly settled: Promise<void>
}

/** The batches of a dispatcher that are in progress, beside those of the other dispatchers of its process. */
export class RunningBatches {
  readonly #turn: Turn | undefined
  readonly #mostUnsettled: number
  readonly #wake: () => void
  readonly #running = new Map<Promise<void>, Way>()
  readonly #unsettled = new Set<Promise<void>>()

  constructor({ turn, mostUnsettled, wake }: RunningBatchesDeps) {
    this.#turn = turn
    this.#mostUnsettled = mostUnsettled
    this.#wake = wake
  }

  get size(): number {
    return this.#running.size
  }

  /** How many batches have been called and their outcomes are not written yet. */
  get unwritten(): number {
    return this.#unsettled.size - this.#running.size
  }

  /**
   * What is in progress. Null if nothing may begin: too many outcomes are not written yet, or another dispatcher must have the
   * process for itself.
   */
  get room(): Pick<Room, 'underWay' | 'others' | 'onWait'> | null {
    const { unwritten } = this
    if (unwritten >= this.#mostUnsettled) return null
    const elsewhere = this.#turn?.others ?? 'nothing'
    if (elsewhere === 'exclusive') {
      this.#turn?.wake(this.#wake)
      return null
    }
    // What may kill the process also waits for outcomes that are not written yet: these batches would be sent again.
    const others = unwritten > 0 ? 'batches' : elsewhere
    return { underWay: [...this.#running.values()], others, onWait: this.#waitAlone }
  }

  readonly #waitAlone = (): void => {
    this.#turn?.want()
    this.#turn?.wake(this.#wake)
  }

  /** Adds a batch that begins now. `then` is called after its outcomes were written. */
  add({ way, called, settled }: RunningBatch, then: () => void): void {
    this.#turn?.began(way)
    // The next suspect must not begin before it is written how this one ended.
    const ended = (way === 'new' || way === 'due' ? called : settled).then(() => {
      this.#running.delete(ended)
      this.#wake()
    })
    this.#running.set(ended, way)
    const written = settled.then(() => {
      this.#unsettled.delete(written)
      this.#turn?.ended(way)
      then()
    })
    this.#unsettled.add(written)
  }

  /** Resolves when those in progress now have ended, and their outcomes are written. */
  async ended(): Promise<void> {
    await Promise.allSettled([...this.#running.keys(), ...this.#unsettled])
  }
}
