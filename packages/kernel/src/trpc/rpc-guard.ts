import type { IncomingMessage } from 'node:http'
import { invalidRequest, methodNotImplemented, payloadTooLarge, unsupportedMediaType } from '../error-codes.ts'
import { readRawBody } from '../http/raw-body.ts'
import { parseStrictJson } from '../strict-json.ts'

/** Maximum body size of a call. 500 events with the longest names fit. */
const MAX_CALL_BYTES = 1_048_576

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])

/**
 * Checks a call before its caller is known: the method exists, and the announced body is not too large.
 * @throws methodNotImplemented, payloadTooLarge
 */
export function checkHead(request: IncomingMessage): void {
  if (!METHODS.has(request.method ?? '')) throw methodNotImplemented()
  if (Number(request.headers['content-length'] ?? 0) > MAX_CALL_BYTES) {
    throw payloadTooLarge({}, { headers: { Connection: 'close' } })
  }
}

/** The input of a call without a body, and the check before any input is parsed. */
export interface InputRules {
  readonly url: URL
  readonly check?: ((input: Uint8Array) => void) | undefined
}

/**
 * Reads the input of a call strictly, because tRPC accepts invalid UTF-8 and duplicate keys. Undefined if there is no
 * body. tRPC refuses methods other than POST itself.
 * @throws unsupportedMediaType, payloadTooLarge, invalidBody, invalidRequest, and the errors of `check`
 */
export async function readInput(request: IncomingMessage, { url, check }: InputRules): Promise<string | undefined> {
  if (request.method !== 'POST') {
    const input = url.searchParams.get('input')
    const bytes = Buffer.from(input ?? '')
    check?.(bytes)
    if (input !== null) checkJson(bytes)
    return undefined
  }
  if (!isJson(request.headers['content-type']) || (request.headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw unsupportedMediaType({}, { headers: { Accept: 'application/json', 'Accept-Encoding': 'identity' } })
  }
  const body = await readRawBody(request, MAX_CALL_BYTES)
  check?.(body)
  checkJson(body)
  return body.toString()
}

function checkJson(bytes: Uint8Array): void {
  const input = parseStrictJson(bytes, { exactNumbers: true })
  if (typeof input !== 'object' || input === null) throw invalidRequest({}, { message: 'The input must be an object' })
}

function isJson(contentType: string | undefined): boolean {
  return /^application\/json[ \t]*(;[ \t]*charset="?utf-8"?[ \t]*)?$/i.test(contentType ?? '')
}
