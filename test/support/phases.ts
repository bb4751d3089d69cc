import { TIMED_OUT, withTimeout } from '@oncehook/kernel/time/waits'

/** The parts of a long test, each with the milliseconds that it may take. */
export type PhaseLimits<Name extends string> = Readonly<Record<Name, number>>

/** The limit of a test that consists of phases: beyond all of theirs, so that the one that hangs is named. */
export function limitOf(limits: PhaseLimits<string>, aroundMs: number): number {
  return Object.values(limits).reduce((sum, ms) => sum + ms, aroundMs)
}

/** Runs the phases of a test. A failure is reported with its phase and the current state. */
export class Phases<Name extends string> {
  readonly #limits: PhaseLimits<Name>
  readonly #describe: () => Promise<readonly string[]>
  readonly #over: string[] = []

  /** `describe` reports the current state, in lines; it may take some seconds. */
  constructor(limits: PhaseLimits<Name>, describe: () => Promise<readonly string[]>) {
    this.#limits = limits
    this.#describe = describe
  }

  /** Runs a phase. Throws when it fails or is not over in time. */
  async run<T>(name: Name, work: () => Promise<T>): Promise<T> {
    const limitMs = this.#limits[name]
    const startedAt = performance.now()
    const seconds = (): string => ((performance.now() - startedAt) / 1_000).toFixed(1)
    try {
      const value = await withTimeout(work(), limitMs)
      if (value === TIMED_OUT) throw new Error(`It is not over after ${limitMs / 1_000} s`)
      this.#over.push(`${name}: ${seconds()} s`)
      return value
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      const title = `In the phase "${name}", after ${seconds()} s: ${reason}`
      throw new Error(
        [title, `Over by then: ${this.#over.join(', ') || 'nothing'}`, ...(await this.#standing())].join('\n'),
        { cause },
      )
    }
  }

  async #standing(): Promise<readonly string[]> {
    return this.#describe().catch((error: unknown) => [`Nobody knows how things stand: ${String(error)}`])
  }
}
