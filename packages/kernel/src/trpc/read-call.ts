import type { IncomingMessage } from 'node:http'
import { invalidRequest, methodNotImplemented, payloadTooLarge, unsupportedMediaType } from '../error-codes.ts'
import { readRawBody } from '../http/raw-body.ts'
import { parseStrictJson } from '../strict-json.ts'

/** The largest body of a call: 500 events with the longest names fit. */
const MAX_CALL_BYTES = 1_048_576

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])

/**
 * Checks what can be checked before the caller is known: the method exists, the announced body is not too large.
 * @throws methodNotImplemented, payloadTooLarge
 */
export function checkHead(request: IncomingMessage): void {
  if (!METHODS.has(request.method ?? '')) throw methodNotImplemented()
  if (Number(request.headers['content-length'] ?? 0) > MAX_CALL_BYTES) {
    throw payloadTooLarge({}, { headers: { Connection: 'close' } })
  }
}

/** Where the input of a call without a body is, and what must be right of any before it is parsed. */
export interface InputRules {
  readonly url: URL
  readonly check?: ((input: Uint8Array) => void) | undefined
}

/**
 * Reads the input of a call strictly, for tRPC itself takes broken UTF-8 and members that occur twice. Undefined for
 * what carries no body; other methods than POST are left for tRPC to refuse.
 * @throws unsupportedMediaType, payloadTooLarge, invalidBody, invalidRequest, and what `check` throws
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
  if (typeof input !== 'object' || input === null) throw invalidRequest({}, { says: 'The input is an object' })
}

function isJson(contentType: string | undefined): boolean {
  return /^application\/json[ \t]*(;[ \t]*charset="?utf-8"?[ \t]*)?$/i.test(contentType ?? '')
}
