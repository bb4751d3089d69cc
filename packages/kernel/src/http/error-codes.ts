// Each message says what the error means; docs/errors.md says what to do.
import { defineError } from './errors.ts'

export const badRequest = defineError('bad_request', {
  status: 400,
  retry: 'never',
  message: 'The request is not valid HTTP',
})
export const invalidBody = defineError('invalid_body', {
  status: 400,
  retry: 'never',
  message: 'The body is not valid JSON',
})
export const invalidRequest = defineError('invalid_request', {
  status: 400,
  retry: 'never',
  message: 'The request is not valid',
})
export const unauthenticated = defineError('unauthenticated', {
  status: 401,
  retry: 'never',
  message: 'A valid token is required',
})
export const notFound = defineError('not_found', { status: 404, retry: 'never', message: 'Not found' })
export const methodNotAllowed = defineError('method_not_allowed', {
  status: 405,
  retry: 'never',
  message: 'This method is not allowed here',
})
export const methodNotImplemented = defineError('method_not_implemented', {
  status: 501,
  retry: 'never',
  message: 'This method is not implemented',
})
export const notAcceptable = defineError('not_acceptable', {
  status: 406,
  retry: 'never',
  message: 'Only JSON is available',
})
export const requestTimeout = defineError('request_timeout', {
  status: 408,
  retry: 'later',
  message: 'The request took too long to arrive',
})
export const preconditionFailed = defineError('precondition_failed', {
  status: 412,
  retry: 'now',
  message: 'The resource has changed: read it again',
})
export const payloadTooLarge = defineError('payload_too_large', {
  status: 413,
  retry: 'never',
  message: 'The body is too large',
})
export const uriTooLong = defineError('uri_too_long', {
  status: 414,
  retry: 'never',
  message: 'The request target is too long',
})
export const unsupportedMediaType = defineError('unsupported_media_type', {
  status: 415,
  retry: 'never',
  message: 'Only uncompressed JSON in UTF-8 is accepted',
})
export const preconditionRequired = defineError('precondition_required', {
  status: 428,
  retry: 'never',
  message: 'If-Match is required: send the ETag of the version to change',
})
export const rateLimited = defineError('rate_limited', { status: 429, retry: 'later', message: 'Too many requests' })
export const expectationFailed = defineError('expectation_failed', {
  status: 417,
  retry: 'never',
  message: 'The only supported expectation is 100-continue',
})
/** A private listener was called by a name that is not its own (RFC 9110 section 15.5.20). */
export const hostUnknown = defineError('host_unknown', {
  status: 421,
  retry: 'never',
  message: 'This listener does not have this name: use its IP address, or add the name to PRIVATE_NAMES',
})
export const headersTooLarge = defineError('headers_too_large', {
  status: 431,
  retry: 'never',
  message: 'The header section is too large',
})
export const httpVersionNotSupported = defineError('http_version_not_supported', {
  status: 505,
  retry: 'never',
  message: 'Only HTTP/1.1 and HTTP/1.0 are supported',
})
export const unavailable = defineError('unavailable', {
  status: 503,
  retry: 'later',
  message: 'The service is temporarily unavailable: try again later',
})
export const keyUnknown = defineError('key_unknown', {
  status: 503,
  retry: 'later',
  message: 'The record is encrypted with a key that is not configured',
})
export const recordAltered = defineError('record_altered', {
  status: 500,
  retry: 'never',
  message: 'The encrypted record was altered',
})
