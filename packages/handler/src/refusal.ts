const ADVICE = ['now', 'later', 'never'] as const

/** When the sender should deliver a refused event again: at once, later, or not at all. */
export type RetryAdvice = (typeof ADVICE)[number]

/** What a refusal says besides its reason. */
export interface RefusalOptions {
  /** Seconds that the sender should wait, as a whole number. Only for `later`. Default: 60. */
  readonly afterSeconds?: number
}

/**
 * Throw it in a function for events. The transaction is rolled back, the key is not kept, and the sender gets the advice
 * and the message. Never put a secret or personal data into the message.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly retry: RetryAdvice
  readonly afterSeconds: number

  constructor(retry: RetryAdvice, message: string, { afterSeconds = 60 }: RefusalOptions = {}) {
    super(message)
    if (!ADVICE.includes(retry)) throw new RangeError("retry must be 'now', 'later' or 'never'")
    if (!Number.isSafeInteger(afterSeconds) || afterSeconds < 0) {
      throw new RangeError('afterSeconds must be a whole number of seconds')
    }
    this.retry = retry
    this.afterSeconds = afterSeconds
  }
}
