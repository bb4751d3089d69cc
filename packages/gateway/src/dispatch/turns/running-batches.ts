import type { Room, Way } from '../waiting-claims.ts'
import type { Turn } from './process-turns.ts'

/** The batches of a dispatcher that are in progress, beside those of the other dispatchers of its process. */
export class RunningBatches {
  readonly #turn: Turn | undefined
  readonly #wake: () => void
  readonly #running = new Map<Promise<void>, Way>()

  /** `turn`: absent if it is the only dispatcher. `wake` is called when something that it has to wait for has ended. */
  constructor(turn: Turn | undefined, wake: () => void) {
    this.#turn = turn
    this.#wake = wake
  }

  get size(): number {
    return this.#running.size
  }

  /** What is in progress. Null if nothing may begin, because another dispatcher must have the process for itself. */
  get room(): Pick<Room, 'underWay' | 'others' | 'onWait'> | null {
    const others = this.#turn?.others ?? 'nothing'
    if (others === 'exclusive') {
      this.#turn?.wake(this.#wake)
      return null
    }
    return { underWay: [...this.#running.values()], others, onWait: this.#waitAlone }
  }

  readonly #waitAlone = (): void => {
    this.#turn?.want()
    this.#turn?.wake(this.#wake)
  }

  /** Adds a batch that begins now, until `run` has ended. `then` is called after that. */
  add(way: Way, run: Promise<void>, then: () => void): void {
    this.#turn?.began(way)
    const ended = run.finally(() => {
      this.#running.delete(ended)
      this.#turn?.ended(way)
      then()
    })
    this.#running.set(ended, way)
  }

  /** Resolves when those in progress now have ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#running.keys())
  }
}
