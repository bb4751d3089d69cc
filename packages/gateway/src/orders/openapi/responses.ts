import {
  badRequest,
  expectationFailed,
  headersTooLarge,
  httpVersionNotSupported,
  methodNotImplemented,
  payloadTooLarge,
  requestTimeout,
  unsupportedMediaType,
  uriTooLong,
} from '@oncehook/kernel/http/error-codes'
import { toAppError } from '@oncehook/kernel/http/errors'
import type { Method, Resource } from '../../http/resources.ts'
import { schemaReference } from './components.ts'
import type { Answer, JsonObject, Operation, Refusal } from './operations.ts'

const { code, status, message } = toAppError(undefined)
const internal: Refusal = { code, status, message }

// These errors are sent before our own code reads the request: no other headers.
const FRAMING: readonly Refusal[] = [
  badRequest,
  requestTimeout,
  payloadTooLarge,
  uriTooLong,
  expectationFailed,
  headersTooLarge,
  methodNotImplemented,
  httpVersionNotSupported,
]

/** The errors of any request: invalid HTTP, and an internal error. */
const ANYWHERE: readonly Refusal[] = [...FRAMING, internal]

const HEADERS_OF: Readonly<Record<string, readonly string[]>> = {
  method_not_allowed: ['Allow'],
  unauthenticated: ['WWW-Authenticate'],
  scope_missing: ['WWW-Authenticate'],
  signature_invalid: ['WWW-Authenticate'],
  rate_limited: ['Retry-After'],
  overloaded: ['Retry-After'],
  unavailable: ['Retry-After'],
  key_unknown: ['Retry-After'],
  precondition_failed: ['ETag'],
  unsupported_media_type: ['Accept', 'Accept-Encoding'],
  idempotency_in_progress: ['Retry-After'],
}

export interface PlacedOperation {
  readonly operation: Operation
  readonly method: Method
  readonly resource: Resource
}

/** Every status of an operation, with its headers and its body. */
export function responsesOf(placed: PlacedOperation) {
  const { answers, refusals = [] } = placed.operation
  const byStatus = Map.groupBy([...refusals, ...ANYWHERE], (refusal) => refusal.status)
  return [
    ...Object.entries(answers).map(([at, answer]) => ({ status: at, response: toResponse(placed, answer) })),
    ...[...byStatus]
      .toSorted(([one], [other]) => one - other)
      .map(([at, entries]) => ({ status: String(at), response: toErrorResponse(placed, [...new Set(entries)]) })),
  ]
}

function toResponse(placed: PlacedOperation, answer: Answer): JsonObject {
  const { description, headers = [], schema, example } = answer
  const withBody = schema !== undefined && placed.method !== 'HEAD'
  return {
    description,
    headers: describeHeaders([...headersOfAll(placed), ...headers]),
    content: withBody ? { 'application/json': { schema, example } } : undefined,
  }
}

function toErrorResponse(placed: PlacedOperation, refusals: readonly Refusal[]): JsonObject {
  const own = placed.operation.refusals ?? []
  const isFraming = refusals.every((refusal) => FRAMING.includes(refusal) && !own.includes(refusal))
  const headers: string[] = isFraming
    ? ['X-Request-Id']
    : [...headersOfAll(placed), ...specialHeaders(placed, refusals)]
  const codes = { type: 'object', properties: { code: { enum: refusals.map((refusal) => refusal.code) } } }
  const content = { 'application/json': { schema: { allOf: [schemaReference('Error'), codes] } } }
  return {
    description: refusals.map((refusal) => `\`${refusal.code}\`: ${refusal.message}`).join('. '),
    headers: describeHeaders([...headers, 'Cache-Control']),
    content: placed.method === 'HEAD' && !isFraming ? undefined : content,
  }
}

function specialHeaders({ method }: PlacedOperation, refusals: readonly Refusal[]): string[] {
  const isOfPatch = method === 'PATCH' && refusals.includes(unsupportedMediaType)
  return [...refusals.flatMap((refusal) => HEADERS_OF[refusal.code] ?? []), ...(isOfPatch ? ['Accept-Patch'] : [])]
}

function headersOfAll({ operation, resource }: PlacedOperation): string[] {
  return [
    'X-Request-Id',
    ...(operation.security === 'bearer' ? ['RateLimit', 'RateLimit-Policy'] : []),
    ...(resource.cors ? ['Vary', 'Access-Control-Allow-Origin', 'Access-Control-Expose-Headers'] : []),
  ]
}

/** Their meaning is in docs/reference/http.md. */
function describeHeaders(names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { schema: { type: 'string' } }]))
}
