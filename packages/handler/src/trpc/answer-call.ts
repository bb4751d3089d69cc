import type { EventAnswer } from '../batch/act-on-batch.ts'
import { type Answer, answerJson, type ErrorAnswer } from '../http/answer.ts'

export const PROCEDURE = 'events.handle'

export function answerCall(results: readonly EventAnswer[]): Answer {
  return answerJson(200, { result: { data: { results } } })
}

/** The errors of tRPC by status: the number of JSON-RPC, and the name. */
const CODES: Readonly<Record<number, readonly [number, string]>> = {
  400: [-32_600, 'BAD_REQUEST'],
  401: [-32_001, 'UNAUTHORIZED'],
  404: [-32_004, 'NOT_FOUND'],
  405: [-32_005, 'METHOD_NOT_SUPPORTED'],
  408: [-32_008, 'TIMEOUT'],
  413: [-32_013, 'PAYLOAD_TOO_LARGE'],
  415: [-32_015, 'UNSUPPORTED_MEDIA_TYPE'],
  503: [-32_603, 'SERVICE_UNAVAILABLE'],
}

export function answerCallError({ status, error, message, retry, retryAfter, headers = {} }: ErrorAnswer): Answer {
  const [code, name] = CODES[status] ?? [-32_603, 'INTERNAL_SERVER_ERROR']
  const data = { code: name, httpStatus: status, path: PROCEDURE, error, retry }
  const wait = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }
  return answerJson(status, { error: { message, code, data } }, { ...headers, ...wait })
}
