import type { IncomingMessage, ServerResponse } from 'node:http'
import { methodNotAllowed } from '@oncehook/kernel/http/error-codes'
import { parseEntityTagList } from '@oncehook/kernel/http/preconditions'
import { isConsolePage } from './console-pages.ts'
import { type ConsoleFile, type ConsoleFiles, INDEX } from './read-console.ts'
import { takesGzip } from './takes-gzip.ts'

const YEAR_SECONDS = 31_536_000

/**
 * Answers a request for the operator's page or one of its files. Returns false if the path is neither; it is compared as
 * it was sent, without decoding anything.
 * @throws methodNotAllowed, and invalidRequest for an `If-None-Match` that is not valid
 */
export function serveConsole(files: ConsoleFiles, request: IncomingMessage, response: ServerResponse): boolean {
  const path = request.url?.split('?', 1)[0] ?? ''
  const file = files.get(isConsolePage(path) ? INDEX : path)
  if (file === undefined) return false
  const isHead = request.method === 'HEAD'
  if (request.method !== 'GET' && !isHead) throw methodNotAllowed({}, { headers: { Allow: allowedOn(path) } })
  response.setHeader('ETag', file.etag)
  response.setHeader('Vary', 'Accept-Encoding')
  response.setHeader('Cache-Control', file.isImmutable ? `max-age=${YEAR_SECONDS}, immutable` : 'no-cache')
  if (isKnownToClient(request.headers['if-none-match'], file)) {
    response.writeHead(304).end()
    return true
  }
  const coded = takesGzip(request.headers['accept-encoding']) ? file.compressed : null
  const body = coded ?? file.content
  if (coded !== null) response.setHeader('Content-Encoding', 'gzip')
  response.writeHead(200, { 'Content-Type': file.type, 'Content-Length': body.length })
  response.end(isHead ? undefined : body)
  return true
}

/** The methods of a path of the page. One path also takes the code of a sign-in. */
function allowedOn(path: string): string {
  return path === SIGN_IN_PATH ? 'GET, HEAD, POST' : 'GET, HEAD'
}

/** The path that shows the sign-in, and takes its code by `POST`. */
export const SIGN_IN_PATH = '/sign-in'

/** By weak comparison (RFC 9110 section 13.1.2). */
function isKnownToClient(header: string | undefined, { etag }: ConsoleFile): boolean {
  if (header === undefined) return false
  const list = parseEntityTagList(header)
  return list === '*' || list.some(({ value }) => etag === `W/"${value}"`)
}
