import type { AppError } from '../errors.ts'
import type { Logger } from '../logger.ts'

/** A refused request. It contains nothing chosen by the client except the method and a well-formed request id. */
export interface RefusedRequest {
  readonly requestId: string
  /** The request id from the client, if it is well-formed. */
  readonly clientRequestId?: string | undefined
  readonly error: AppError
  /** Absent if the request could not be parsed. */
  readonly method?: string | undefined
  /** The route pattern. Default: unknown. */
  readonly route?: string | undefined
  readonly principal?: string | undefined
  readonly ms?: number
}

const MAX_METHOD = 16

/** Writes the log line of a refused request with the request id from its response. Never logs the body, headers or path. */
export function logRefused(logger: Logger, refused: RefusedRequest): void {
  const { requestId, clientRequestId, error, method, route = 'unknown', principal, ms } = refused
  const { status, code, details, cause } = error
  const line = {
    ...details,
    requestId,
    clientRequestId,
    method: method?.slice(0, MAX_METHOD),
    route,
    ...(principal === undefined ? {} : { principal }),
    status,
    code,
    ms,
  }
  if (status >= 500 && cause !== undefined) logger.warn({ ...line, error }, 'request.refused')
  // The client has asked for this answer, to learn whether an order exists or has changed: nobody has to look.
  else logger[status === 412 ? 'info' : 'warn'](line, 'request.refused')
}
