import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { requestTimeout } from '@oncehook/kernel/http/error-codes'
import type { AppError } from '@oncehook/kernel/http/errors'
import { readRawBody } from '@oncehook/kernel/http/server/raw-body'
import type { Middleware } from 'koa'

const REQUEST_ID = /^[A-Za-z0-9._-]{8,128}$/

export interface RequestState {
  requestId: string
  /** The caller's id for the request, if any. Only for the log. */
  clientRequestId?: string | undefined
  /** The value of `performance.now()` at which the request must be answered. */
  endsAt: number
}

/** The ids of a request: ours, and the caller's `X-Request-Id` if it has a plain form. */
export type RequestIds = Pick<RequestState, 'requestId' | 'clientRequestId'>

/** Gives a request an id. The caller's id is kept separately: an id that a stranger chooses proves nothing in a log. */
export function requestIdsOf({ headers }: IncomingMessage): RequestIds {
  const requestId = randomUUID()
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? { requestId, clientRequestId: given } : { requestId }
}

export function commonHeaders(requestId: string): Readonly<Record<string, string>> {
  return { 'X-Request-Id': requestId, 'X-Content-Type-Options': 'nosniff' }
}

/** Creates the middleware that gives every request an id, which is also in the answer, and a deadline. */
export function createRequestContext(withinMs: number): Middleware<RequestState> {
  return (ctx, next) => {
    Object.assign(ctx.state, requestIdsOf(ctx.req))
    ctx.state.endsAt = performance.now() + withinMs
    ctx.set(commonHeaders(ctx.state.requestId))
    return next()
  }
}

export function bodyTooLate(): AppError {
  return requestTimeout({}, { headers: { Connection: 'close' } })
}

/**
 * Reads a body that must be complete when `performance.now()` reaches `endsAt`.
 * @throws requestTimeout, payloadTooLarge, or badRequest if the sender aborted
 */
export async function readBodyBy(
  request: IncomingMessage,
  { maxBytes, endsAt }: { readonly maxBytes: number; readonly endsAt: number },
): Promise<Buffer> {
  let timer: NodeJS.Timeout | undefined
  const onReading = (end: (reason: Error) => void): void => {
    timer = setTimeout(() => end(bodyTooLate()), endsAt - performance.now())
  }
  try {
    return await readRawBody(request, maxBytes, { onBytes: () => undefined, onReading })
  } finally {
    clearTimeout(timer)
  }
}
