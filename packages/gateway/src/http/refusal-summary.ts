import type { Logger } from '@oncehook/kernel/logger'

/** A delivery that was refused, and is counted in place of having a line of its own. */
export interface CountedRefusal {
  readonly requestId: string
  readonly provider: string
  /** Where it came from. */
  readonly address: string
  readonly status: number
  readonly code: string
  /** Why it was not authentic, where that is known. */
  readonly reason?: unknown
}

type Counted = CountedRefusal & { times: number }

const MOST_LINES = 100
const MOST_ALARMS = 10
const OTHERS = 'others'

/**
 * Bounds the lines that refused deliveries write, whatever addresses they come from: else a flood would rotate the log
 * away. In a turn 100 have a line of their own and 10 an alarm. The others are counted, one line for each address,
 * provider and code; beyond 100 of these, all others share one.
 */
export class RefusalSummary {
  readonly #logger: Pick<Logger, 'warn'>
  #counted = new Map<string, Counted>()
  #lines = 0
  #alarms = 0

  constructor(logger: Pick<Logger, 'warn'>) {
    this.#logger = logger
  }

  /** Takes a line of its own for a refusal; false if this turn has none left. */
  takeLine(): boolean {
    this.#lines += 1
    return this.#lines <= MOST_LINES
  }

  /** Takes a line for an alarm; false if this turn has none left. */
  takeAlarm(): boolean {
    this.#alarms += 1
    return this.#alarms <= MOST_ALARMS
  }

  /** Counts one. */
  add(refusal: CountedRefusal): void {
    const { provider, address, code } = refusal
    const own = `${provider} ${address} ${code}`
    const isOther = !this.#counted.has(own) && this.#counted.size >= MOST_LINES
    const key = isOther ? OTHERS : own
    const counted = this.#counted.get(key)
    if (counted !== undefined) counted.times += 1
    else this.#counted.set(key, { ...refusal, ...(isOther ? { provider: OTHERS, address: OTHERS } : {}), times: 1 })
  }

  /** Writes the lines of the turn that ends, and begins the next; to be called every second. */
  write(): void {
    this.#lines = 0
    this.#alarms = 0
    const counted = this.#counted
    if (counted.size === 0) return
    this.#counted = new Map()
    for (const line of counted.values()) this.#logger.warn(line, 'webhook.refused')
  }
}
