/** What a caller may do with a refusal: read again and retry at once, retry after a wait, or give up. */
export type RetryClass = 'now' | 'later' | 'never'

/** One entry of the catalogue: the HTTP status, the retry class and the public sentence that belong to a code. */
export interface ErrorSpec {
  readonly status: number
  readonly retry: RetryClass
  readonly says: string
}

/** What one occurrence adds to its catalogue entry. `details` go to the log, never to the caller. */
export interface ErrorOccurrence {
  readonly details?: Record<string, unknown>
  readonly cause?: unknown
  readonly headers?: Record<string, string>
  /** A sentence for this occurrence in place of the entry's; it may name a member, never a value. */
  readonly says?: string
}

/** A refusal from the catalogue. The message is public; `details` and `cause` are for the log. */
export class AppError extends Error {
  override readonly name = 'AppError'
  readonly code: string
  readonly status: number
  readonly retry: RetryClass
  readonly details: Record<string, unknown>
  readonly headers: Record<string, string>

  constructor(code: string, spec: ErrorSpec, occurrence: ErrorOccurrence = {}) {
    super(occurrence.says ?? spec.says, 'cause' in occurrence ? { cause: occurrence.cause } : undefined)
    this.code = code
    this.status = spec.status
    this.retry = spec.retry
    this.details = occurrence.details ?? {}
    this.headers = occurrence.headers ?? {}
  }
}

/** Makes the errors of one catalogue entry and recognises them. */
export interface ErrorFactory extends ErrorSpec {
  readonly code: string
  (details?: Record<string, unknown>, more?: Omit<ErrorOccurrence, 'details'>): AppError
  is(thrown: unknown): thrown is AppError
}

/** Declares one catalogue entry. The code is permanent: callers and documents rely on it. */
export function defineError(code: string, spec: ErrorSpec): ErrorFactory {
  const make = (details: Record<string, unknown> = {}, more: Omit<ErrorOccurrence, 'details'> = {}): AppError =>
    new AppError(code, spec, { ...more, details })
  const is = (thrown: unknown): thrown is AppError => thrown instanceof AppError && thrown.code === code
  return Object.assign(make, { code, ...spec, is })
}

const internal = defineError('internal', { status: 500, retry: 'later', says: 'Something went wrong on our side' })

/** Turns anything thrown into a catalogue error: the unknown becomes `internal`, its cause kept for the log. */
export function toAppError(thrown: unknown): AppError {
  return thrown instanceof AppError ? thrown : internal({}, { cause: thrown })
}
