import type { IncomingMessage } from 'node:http'
import { badRequest, httpVersionNotSupported, methodNotImplemented } from '../../error-codes.ts'
import type { AppError } from '../../errors.ts'

/** The error for an HTTP version that is not supported. Node's parser reports a request line without a version as HTTP 0.9. */
export function versionRefusal({ httpVersionMajor }: IncomingMessage): AppError {
  return httpVersionMajor > 1 ? httpVersionNotSupported() : badRequest({ reason: 'version' })
}

/**
 * The error for a transfer coding that is not supported, in this number of header lines; null if there is none or it is
 * `chunked` (RFC 9112 section 6.1).
 */
export function codingRefusal({ headers, httpVersion }: IncomingMessage, lines: number): AppError | null {
  const coding = headers['transfer-encoding']
  if (coding === undefined) return null
  if (httpVersion === '1.0' || lines > 1) return badRequest({ reason: 'transfer-encoding' })
  return coding.toLowerCase() === 'chunked'
    ? null
    : methodNotImplemented({}, { message: 'Only the chunked transfer coding is implemented' })
}
