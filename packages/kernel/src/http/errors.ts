/** How a caller may react: read again and retry at once, retry later, or give up. */
export type RetryClass = 'now' | 'later' | 'never'

/** A catalogue entry: the HTTP status, the retry class and the public message of an error code. */
export interface ErrorSpec {
  readonly status: number
  readonly retry: RetryClass
  readonly message: string
}

/** Additions of one occurrence to its catalogue entry. `details` are logged and never sent to the caller. */
export interface ErrorOccurrence {
  readonly details?: Record<string, unknown>
  readonly cause?: unknown
  readonly headers?: Record<string, string>
  /** Replaces the message of the entry. May name a property, never a value. */
  readonly message?: string
}

/** An error from the catalogue. The message is public; `details` and `cause` are for the log. */
export class AppError extends Error {
  override readonly name = 'AppError'
  readonly code: string
  readonly status: number
  readonly retry: RetryClass
  readonly details: Record<string, unknown>
  readonly headers: Record<string, string>

  constructor(code: string, spec: ErrorSpec, occurrence: ErrorOccurrence = {}) {
    super(occurrence.message ?? spec.message, 'cause' in occurrence ? { cause: occurrence.cause } : undefined)
    this.code = code
    this.status = spec.status
    this.retry = spec.retry
    this.details = occurrence.details ?? {}
    this.headers = occurrence.headers ?? {}
  }

  /** Returns the same error with more headers and details. Its cause is this error. */
  with({ headers, details }: Pick<ErrorOccurrence, 'headers' | 'details'>): AppError {
    const { code, status, retry, message } = this
    return new AppError(
      code,
      { status, retry, message },
      { cause: this, headers: { ...this.headers, ...headers }, details: { ...this.details, ...details } },
    )
  }
}

export interface ErrorFactory extends ErrorSpec {
  readonly code: string
  (details?: Record<string, unknown>, more?: Omit<ErrorOccurrence, 'details'>): AppError
  is(thrown: unknown): thrown is AppError
}

/** Declares a catalogue entry. Codes are permanent, because callers and documents rely on them. */
export function defineError(code: string, status: number, message: string, retry: RetryClass = 'never'): ErrorFactory {
  const spec: ErrorSpec = { status, retry, message }
  const make = (details: Record<string, unknown> = {}, more: Omit<ErrorOccurrence, 'details'> = {}): AppError =>
    new AppError(code, spec, { ...more, details })
  const is = (thrown: unknown): thrown is AppError => thrown instanceof AppError && thrown.code === code
  return Object.assign(make, { code, ...spec, is })
}

/** Give the operator the request id. */
const internal = defineError('internal', 500, 'Internal error', 'later')

/** Whether a status says that the service failed. Of those beyond 500, clients cause 501 and 505 by what they send. */
export function isFailure(status: number): boolean {
  return status >= 500 && status !== 501 && status !== 505
}

/**
 * Converts anything thrown to a catalogue error. Unknown errors become `internal`, with the original as the cause for
 * the log.
 */
export function toAppError(thrown: unknown): AppError {
  return thrown instanceof AppError ? thrown : internal({}, { cause: thrown })
}
