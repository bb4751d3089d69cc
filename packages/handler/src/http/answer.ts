import type { RetryAdvice } from '../refusal.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const JSON_HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store' }

export function answerJson(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify(value) }
}

export interface ErrorAnswer {
  readonly status: number
  readonly error: string
  readonly message: string
  readonly retry: RetryAdvice
  /** Seconds after which a retry makes sense. */
  readonly retryAfter?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** Answers with an error: its permanent name, a sentence, and what the sender should do. */
export function answerError({ status, error, message, retry, retryAfter, headers = {} }: ErrorAnswer): Answer {
  const wait = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }
  return answerJson(status, { error, message, retry }, { ...headers, ...wait })
}

/** The answer to a request of something that does not exist. */
export const NOT_FOUND: Answer = answerError({
  ...{ status: 404, error: 'not_found', message: 'There is nothing here', retry: 'never' },
})
