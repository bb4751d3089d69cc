// Each message says what the error means, the comment above it what to do: docs/reference/errors.md is made of both.
import { defineError } from './errors.ts'

/** Fix the client, or the proxy in front. */
export const badRequest = defineError('bad_request', 400, 'The request is not valid HTTP')
/** Send [strict JSON](http.md#content) in UTF-8. */
export const invalidBody = defineError('invalid_body', 400, 'The body is not valid JSON')
/** The message names the header, parameter or property. */
export const invalidRequest = defineError('invalid_request', 400, 'The request is not valid')
/** Send `Authorization: Bearer` and a [token](settings.md#tokens). */
export const unauthenticated = defineError('unauthenticated', 401, 'A valid token is required')
/** Check the path, with its case, and the name of the provider. */
export const notFound = defineError('not_found', 404, 'Not found')
/** Use a method from `Allow`. */
export const methodNotAllowed = defineError('method_not_allowed', 405, 'This method is not allowed here')
export const methodNotImplemented = defineError('method_not_implemented', 501, 'This method is not implemented')
/** Accept `application/json`. */
export const notAcceptable = defineError('not_acceptable', 406, 'Only JSON is available')
export const requestTimeout = defineError('request_timeout', 408, 'The request took too long to arrive', 'later')
/** Then send its new ETag. */
export const preconditionFailed = defineError(
  'precondition_failed',
  412,
  'The resource has changed: read it again',
  'now',
)
/** The limit is `MAX_BODY_BYTES` or `MAX_WEBHOOK_BYTES`. */
export const payloadTooLarge = defineError('payload_too_large', 413, 'The body is too large')
export const uriTooLong = defineError('uri_too_long', 414, 'The request target is too long')
/** `Accept`, `Accept-Patch` or `Accept-Encoding` of the answer names what is. */
export const unsupportedMediaType = defineError(
  'unsupported_media_type',
  415,
  'Only uncompressed JSON in UTF-8 is accepted',
)
export const preconditionRequired = defineError(
  'precondition_required',
  428,
  'If-Match is required: send the ETag of the version to change',
)
/** See the [limits](http.md#limits). */
export const rateLimited = defineError('rate_limited', 429, 'Too many requests', 'later')
export const expectationFailed = defineError(
  'expectation_failed',
  417,
  'The only supported expectation is 100-continue',
)
/** See [its setting](settings.md#listeners) (RFC 9110 section 15.5.20). */
export const hostUnknown = defineError(
  'host_unknown',
  421,
  'This listener does not have this name: use its IP address, or add the name to PRIVATE_NAMES',
)
export const headersTooLarge = defineError('headers_too_large', 431, 'The header section is too large')
export const httpVersionNotSupported = defineError(
  'http_version_not_supported',
  505,
  'Only HTTP/1.1 and HTTP/1.0 are supported',
)
export const unavailable = defineError(
  'unavailable',
  503,
  'The service is temporarily unavailable: try again later',
  'later',
)
/** Put [the key](settings.md#encryption-keys) back; nothing is lost. */
export const keyUnknown = defineError(
  'key_unknown',
  503,
  'The record is encrypted with a key that is not configured',
  'later',
)
/**
 * Somebody changed it in the database: compare it with a backup. Its receipt is parked, and `/api/orders` answers
 * `order_unreadable`.
 */
export const recordAltered = defineError('record_altered', 500, 'The encrypted record was altered')
