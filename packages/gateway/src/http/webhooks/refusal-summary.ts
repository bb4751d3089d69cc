import type { Logger } from '@oncehook/kernel/log/logger'

/** A rejected delivery that is counted instead of logged in a separate line. */
export interface CountedRefusal {
  readonly requestId: string
  readonly provider: string
  /** The client address. */
  readonly address: string
  readonly status: number
  readonly code: string
  /** Why the delivery was not authentic, if that is known. */
  readonly reason?: unknown
}

type Counted = CountedRefusal & { times: number }

const MOST_LINES = 100
const MOST_ALARMS = 10
const OTHERS = 'others'

/**
 * Limits the log lines of rejected deliveries, whatever addresses they come from. Otherwise a flood would push all older
 * lines out of a rotated log. In each turn, 100 deliveries get a separate line and 10 get an alarm. The others are counted
 * in one line per address, provider and code. Beyond 100 of these lines, all others share one.
 */
export class RefusalSummary {
  readonly #logger: Pick<Logger, 'warn'>
  #counted = new Map<string, Counted>()
  #lines = 0
  #alarms = 0

  constructor(logger: Pick<Logger, 'warn'>) {
    this.#logger = logger
  }

  /** Takes a separate line for a rejected delivery; false if this turn has none left. */
  takeLine(): boolean {
    this.#lines += 1
    return this.#lines <= MOST_LINES
  }

  /** Takes a line for an alarm; false if this turn has none left. */
  takeAlarm(): boolean {
    this.#alarms += 1
    return this.#alarms <= MOST_ALARMS
  }

  /** Counts a rejected delivery. */
  add(refusal: CountedRefusal): void {
    const { provider, address, code } = refusal
    const own = `${provider} ${address} ${code}`
    const isOther = !this.#counted.has(own) && this.#counted.size >= MOST_LINES
    const key = isOther ? OTHERS : own
    const counted = this.#counted.get(key)
    if (counted !== undefined) counted.times += 1
    else this.#counted.set(key, { ...refusal, ...(isOther ? { provider: OTHERS, address: OTHERS } : {}), times: 1 })
  }

  /** Writes the lines of this turn, and begins the next turn. Call it every second. */
  write(): void {
    this.#lines = 0
    this.#alarms = 0
    const counted = this.#counted
    if (counted.size === 0) return
    this.#counted = new Map()
    for (const line of counted.values()) this.#logger.warn(line, 'webhook.refused')
  }
}
