import type { AppError } from '../errors.ts'
import type { Logger } from '../logger.ts'

/** A request that was refused. What the sender chose is not in it, but for the method and a plain request id. */
export interface RefusedRequest {
  readonly requestId: string
  /** The id that the sender has given, where it is a plain one. */
  readonly clientRequestId?: string | undefined
  readonly error: AppError
  /** Absent where no request was understood. */
  readonly method?: string | undefined
  /** The pattern of the path. Default: unknown. */
  readonly route?: string | undefined
  readonly principal?: string | undefined
  readonly ms?: number
}

const MAX_METHOD = 16

/** Writes the one line of a refused request: its id is in the answer too. Never its body, its headers or its path. */
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
  else logger.warn(line, 'request.refused')
}
