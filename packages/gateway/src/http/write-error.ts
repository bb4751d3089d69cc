import type { ServerResponse } from 'node:http'
import type { AppError } from '@oncehook/kernel/http/errors'
import { sendError } from '@oncehook/kernel/http/server/send-error'
import { qualityOf } from './accept.ts'

const PROBLEM = 'application/problem+json'

/** Sends an error to a client of the public listener: as a problem document (RFC 9457) if the client prefers that. */
export function writeError(response: ServerResponse, error: AppError, requestId: string): Promise<void> {
  if (!response.headersSent) {
    const varies = response.getHeader('Vary')
    response.setHeader('Vary', varies === undefined ? 'Accept' : `${varies}, Accept`)
  }
  return sendError(response, error, { requestId, asProblem: prefersProblem(response.req.headers.accept) })
}

/** Whether the client lists problem+json, with a quality that is at least that of plain JSON. */
function prefersProblem(accept: string | undefined): boolean {
  if (accept?.toLowerCase().includes(PROBLEM) !== true) return false
  const wanted = qualityOf(accept, PROBLEM)
  return wanted > 0 && wanted >= qualityOf(accept, 'application/json')
}
