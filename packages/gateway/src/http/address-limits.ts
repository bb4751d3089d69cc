import { rateLimited } from '@oncehook/kernel/http/error-codes'
import type { AppError } from '@oncehook/kernel/http/errors'
import type { Clock } from '@oncehook/kernel/time/clock'
import { overloaded } from '@oncehook/webhooks/providers'

/** The rejected requests that an address may send per window; 0 means no limit, of processor time neither. */
export interface AddressLimitsOptions {
  readonly failures: number
  readonly windowSeconds: number
  readonly clock: Clock
}

/** What is known of a request before it is checked. */
export interface Unchecked {
  /** Whether it has a signature that must be looked at. */
  readonly isSigned: boolean
  /** The length to check, in bytes. */
  readonly bytes: number
}

// A tenth of a core for the forged requests of one address.
const MS_PER_SECOND = 100
// The dearest check: large requests are refused from the first one on, so that others wait for one check, not for a row.
const MOST_MS_OF_LARGE = 20
// Only a flood of thousands per second, or of the costliest small requests, gets here.
const MOST_MS_OF_SMALL = 100
// A flood is remembered for three seconds.
const MOST_MS = 300
// Nearly all authentic deliveries are smaller. Most schemes check this length in a fraction of a millisecond.
const SMALL_BYTES = 16_384
// Half of what one provider may be asked at once.
const MOST_QUESTIONS = 32
const MOST_ADDRESSES = 20_000
// Addresses beyond this number share one bucket.
const OVERFLOW = '\u0000overflow'

/**
 * One bucket per client address, of its rejected requests and of the processor time that these took. Both leak evenly, so that a
 * flood is paced.
 *
 * A bucket with too many failures refuses requests without a signature. With 20 ms of processor time it refuses large requests,
 * signed or not. With 100 ms it refuses everything. So an authentic small delivery gets its 200 beside a flood from its own
 * address, unless that flood is of thousands per second.
 *
 * Addresses do not share a bucket, so a flood from one address costs others one check at a time. Floods from thousands of
 * addresses are the work of a proxy.
 */
export class AddressLimits {
  readonly #options: AddressLimitsOptions
  readonly #buckets = new Map<string, Bucket>()
  readonly #questions = new Map<string, number>()
  #sweptAt = 0

  constructor(options: AddressLimitsOptions) {
    this.#options = options
  }

  /** The error for a request that is not checked, because the bucket of its address is full; otherwise null. */
  refusalOf(address: string, { isSigned, bytes }: Unchecked): AppError | null {
    const bucket = this.#find(address)
    if (bucket === undefined) return null
    if (bucket.ms >= (bytes > SMALL_BYTES ? MOST_MS_OF_LARGE : MOST_MS_OF_SMALL)) return outOfTime()
    return isSigned || this.#hasRoom(bucket) ? null : this.#tooMany(bucket)
  }

  /**
   * Counts a rejected request, and what its check took. Returns the error to send instead, with the details for the log, if the
   * address already had too many.
   */
  charge(address: string, ms: number, details: AppError['details'] = {}): AppError | null {
    const { failures } = this.#options
    if (failures === 0) return null
    const bucket = this.#open(address)
    const refusal = this.#hasRoom(bucket) ? null : this.#tooMany(bucket, details)
    bucket.failures = Math.min(bucket.failures + 1, failures)
    bucket.ms = Math.min(bucket.ms + ms, MOST_MS)
    return refusal
  }

  /**
   * Asks somebody else on the word of an address that has proved nothing. Few such questions of one address wait at a time.
   * @throws overloaded, and whatever `ask` throws
   */
  async asking<T>(address: string, ask: () => Promise<T>): Promise<T> {
    const waiting = this.#questions.get(address) ?? 0
    if (waiting >= MOST_QUESTIONS) throw overloaded({ reason: 'asked_too_much' }, { headers: { 'Retry-After': '1' } })
    this.#questions.set(address, waiting + 1)
    try {
      return await ask()
    } finally {
      const left = (this.#questions.get(address) ?? 1) - 1
      if (left > 0) this.#questions.set(address, left)
      else this.#questions.delete(address)
    }
  }

  #find(address: string): Bucket | undefined {
    const isShared = this.#buckets.size >= MOST_ADDRESSES
    const bucket = this.#buckets.get(address) ?? (isShared ? this.#buckets.get(OVERFLOW) : undefined)
    return bucket === undefined ? undefined : this.#leak(bucket)
  }

  #open(address: string): Bucket {
    const found = this.#buckets.get(address)
    if (found !== undefined) return this.#leak(found)
    this.#sweep()
    const key = this.#buckets.size >= MOST_ADDRESSES ? OVERFLOW : address
    const bucket = this.#buckets.get(key) ?? { failures: 0, ms: 0, at: this.#options.clock.now() }
    this.#buckets.set(key, bucket)
    return this.#leak(bucket)
  }

  /** Removes the empty buckets, at most once a second, if there are too many. */
  #sweep(): void {
    const now = this.#options.clock.now()
    if (this.#buckets.size < MOST_ADDRESSES || Math.abs(now - this.#sweptAt) < 1_000) return
    this.#sweptAt = now
    for (const [address, bucket] of this.#buckets) {
      const { failures, ms } = this.#leak(bucket)
      if (failures === 0 && ms === 0) this.#buckets.delete(address)
    }
  }

  /** If the clock is set back, nothing leaks. Counting continues from the new time. */
  #leak(bucket: Bucket): Bucket {
    const { failures, windowSeconds, clock } = this.#options
    const now = clock.now()
    const seconds = Math.max(0, now - bucket.at) / 1_000
    bucket.at = now
    bucket.failures = Math.max(0, bucket.failures - (seconds * failures) / windowSeconds)
    bucket.ms = Math.max(0, bucket.ms - seconds * MS_PER_SECOND)
    return bucket
  }

  #hasRoom({ failures }: Bucket): boolean {
    return failures + 1 <= this.#options.failures
  }

  #tooMany(bucket: Bucket, details: AppError['details'] = {}): AppError {
    const { failures, windowSeconds } = this.#options
    const seconds = Math.ceil(((bucket.failures + 1 - failures) * windowSeconds) / failures)
    return refusalBy(`"failed";q=${failures};w=${windowSeconds}`, `"failed";r=0;t=${seconds}`, { seconds, details })
  }
}

interface Bucket {
  failures: number
  /** Processor time, in milliseconds. */
  ms: number
  at: number
}

function outOfTime(): AppError {
  return refusalBy(`"work";q=${MS_PER_SECOND};w=1`, '"work";r=0;t=1', { seconds: 1, details: {} })
}

function refusalBy(
  policy: string,
  limit: string,
  { seconds, details }: { readonly seconds: number; readonly details: AppError['details'] },
): AppError {
  const headers = { 'RateLimit-Policy': policy, RateLimit: limit, 'Retry-After': String(seconds) }
  return rateLimited(details, { headers })
}

const MOST_WORK_MS = 20
const SMALLEST_WORK_MS = 0.25
// Twice the time of the most expensive scheme.
const COSTLY_BYTES_PER_MS = 4_096

/**
 * Estimates the processor time of a check from the time that passed, in milliseconds. It is never more than a body of this
 * length can need: the machine may have done other work, and a stall is not the sender's fault.
 */
export function workOf(passedMs: number, bytes: number): number {
  return Math.min(passedMs, SMALLEST_WORK_MS + bytes / COSTLY_BYTES_PER_MS, MOST_WORK_MS)
}
