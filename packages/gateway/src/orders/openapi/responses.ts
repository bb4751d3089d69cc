import {
  badRequest,
  expectationFailed,
  headersTooLarge,
  httpVersionNotSupported,
  invalidRequest,
  methodNotImplemented,
  payloadTooLarge,
  requestTimeout,
  unsupportedMediaType,
  uriTooLong,
} from '@oncehook/kernel/http/error-codes'
import { toAppError } from '@oncehook/kernel/http/errors'
import type { Method, Resource } from '../../http/resources.ts'
import { type HeaderName, headerReferences, schemaReference } from './components.ts'
import type { Answer, JsonObject, Operation, Refusal } from './operations.ts'

const { code, status, message } = toAppError(undefined)
const internal: Refusal = { code, status, message }

// These errors are sent before our own code reads the request: no other headers, and JSON whatever the Accept header.
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

const HEADERS_OF: Readonly<Record<string, readonly HeaderName[]>> = {
  method_not_allowed: ['Allow'],
  unauthenticated: ['Challenge'],
  scope_missing: ['Challenge'],
  signature_invalid: ['Challenge'],
  rate_limited: ['RetryAfter'],
  overloaded: ['RetryAfter'],
  unavailable: ['RetryAfter'],
  key_unknown: ['RetryAfter'],
  precondition_failed: ['CurrentETag'],
  unsupported_media_type: ['TakenTypes', 'TakenCodings'],
  idempotency_in_progress: ['RetryAfter', 'Link'],
  idempotency_key_reused: ['Link'],
}

/** An operation, with its method and its resource. */
export interface PlacedOperation {
  readonly operation: Operation
  readonly method: Method
  readonly resource: Resource
}

export interface StatusResponse {
  readonly status: string
  /** The error codes; empty if the operation succeeded. */
  readonly codes: readonly string[]
  readonly response: JsonObject
}

/** Every status of an operation, with its headers and its body. */
export function responsesOf(placed: PlacedOperation): StatusResponse[] {
  const { answers, refusals = [] } = placed.operation
  const byStatus = Map.groupBy([...refusals, ...ANYWHERE], (refusal) => refusal.status)
  return [
    ...Object.entries(answers).map(([at, answer]) => ({ status: at, codes: [], response: toResponse(placed, answer) })),
    ...[...byStatus]
      .toSorted(([one], [other]) => one - other)
      .map(([at, entries]) => ({
        status: String(at),
        codes: [...new Set(entries.map((entry) => entry.code))],
        response: toErrorResponse(placed, [...new Set(entries)]),
      })),
  ]
}

function toResponse(placed: PlacedOperation, answer: Answer): JsonObject {
  const { description, headers = [], schema, example, text, links } = answer
  const withBody = schema !== undefined && placed.method !== 'HEAD'
  return {
    description,
    headers: headerReferences([...headersOfAll(placed), ...headers]),
    ...(withBody
      ? {
          content: {
            'application/json': { schema, ...(example === undefined ? {} : { example }) },
            ...(text === undefined ? {} : { 'text/plain': { schema: text } }),
          },
        }
      : {}),
    ...(links === undefined ? {} : { links }),
  }
}

function toErrorResponse(placed: PlacedOperation, refusals: readonly Refusal[]): JsonObject {
  const own = placed.operation.refusals ?? []
  const isFraming = refusals.every((refusal) => FRAMING.includes(refusal) && !own.includes(refusal))
  const headers: HeaderName[] = isFraming
    ? ['RequestId']
    : [...headersOfAll(placed), ...specialHeaders(placed, refusals)]
  const codes = { type: 'object', properties: { code: { enum: refusals.map((refusal) => refusal.code) } } }
  const content = (schema: string): JsonObject => ({ schema: { allOf: [schemaReference(schema), codes] } })
  const problem = isFraming ? {} : { 'application/problem+json': content('Problem') }
  return {
    description: refusals.map((refusal) => `\`${refusal.code}\`: ${refusal.message}`).join('. '),
    headers: headerReferences([...headers, 'CacheControl']),
    ...(placed.method === 'HEAD' && !isFraming
      ? {}
      : { content: { 'application/json': content('Error'), ...problem } }),
  }
}

function specialHeaders({ operation, method }: PlacedOperation, refusals: readonly Refusal[]): HeaderName[] {
  const isOfKey = operation.parameters?.includes('IdempotencyKey') === true && refusals.includes(invalidRequest)
  const isOfPatch = method === 'PATCH' && refusals.includes(unsupportedMediaType)
  return [
    ...refusals.flatMap((refusal) => HEADERS_OF[refusal.code] ?? []),
    ...(isOfKey ? (['Link'] as const) : []),
    ...(isOfPatch ? (['TakenPatches'] as const) : []),
  ]
}

function headersOfAll({ operation, resource }: PlacedOperation): HeaderName[] {
  return [
    'RequestId',
    ...(operation.security === 'bearer' ? (['RateLimit', 'RateLimitPolicy'] as const) : []),
    ...(resource.cors ? (['Vary', 'AllowOrigin', 'ExposeHeaders'] as const) : []),
  ]
}
