import type { ServerResponse } from 'node:http'
import type { AppError } from '@oncehook/kernel/errors'
import { sendEarlyResponse } from '@oncehook/kernel/http/early-response'
import { errorBody } from '@oncehook/kernel/http/error-body'
import { nodeHttp } from '@oncehook/kernel/http/node-http'
import { qualityOf } from './accept.ts'

const PROBLEM = 'application/problem+json'

/**
 * Writes an error. Headers that were set before (CORS, RateLimit) are kept. A client that asks for it gets the same
 * properties in a problem document (RFC 9457). An unread body is not read any more.
 */
export async function writeError(response: ServerResponse, error: AppError, requestId: string): Promise<void> {
  const { req: request } = response
  // An answer that has begun cannot be replaced.
  if (response.headersSent) {
    response.destroy()
    return
  }
  const problem = wantsProblem(request.headers.accept)
  const body = errorBody(error, requestId)
  const content = Buffer.from(problem ? JSON.stringify({ ...problemOf(error), ...(JSON.parse(body) as object) }) : body)
  response.statusCode = error.status
  for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value)
  response.setHeader('Cache-Control', 'no-store')
  const varies = response.getHeader('Vary')
  response.setHeader('Vary', varies === undefined ? 'Accept' : `${varies}, Accept`)
  response.setHeader('Content-Type', problem ? PROBLEM : 'application/json; charset=utf-8')
  if (error.headers.Connection === 'close') return sendEarlyResponse(response, content)
  response.setHeader('Content-Length', content.length)
  response.end(request.method === 'HEAD' ? undefined : content)
}

/** Whether the client lists problem+json, with a quality that is at least that of plain JSON. */
function wantsProblem(accept: string | undefined): boolean {
  if (accept?.toLowerCase().includes(PROBLEM) !== true) return false
  const wanted = qualityOf(accept, PROBLEM)
  return wanted > 0 && wanted >= qualityOf(accept, 'application/json')
}

function problemOf({ status, message: detail }: AppError): object {
  return { type: 'about:blank', title: nodeHttp.STATUS_CODES[status] ?? 'Error', status, detail }
}
