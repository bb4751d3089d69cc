import { defineError } from './errors.ts'

/** The request is not valid HTTP (RFC 9112). */
export const badRequest = defineError('bad_request', {
  status: 400,
  retry: 'never',
  message: 'The request is not valid HTTP',
})
/** The body is not strict UTF-8 JSON (RFC 8259, RFC 7493). */
export const invalidBody = defineError('invalid_body', {
  status: 400,
  retry: 'never',
  message: 'The body is not valid JSON',
})
/** The request is well-formed but has an invalid property or parameter. */
export const invalidRequest = defineError('invalid_request', {
  status: 400,
  retry: 'never',
  message: 'The request is not valid',
})
/** Credentials are missing or invalid (RFC 9110 section 15.5.2). */
export const unauthenticated = defineError('unauthenticated', {
  status: 401,
  retry: 'never',
  message: 'A valid token is required',
})
/** Nothing exists under this path or id. */
export const notFound = defineError('not_found', { status: 404, retry: 'never', message: 'Not found' })
/** The resource does not support this method (RFC 9110 section 15.5.6). The `Allow` header is set on the error. */
export const methodNotAllowed = defineError('method_not_allowed', {
  status: 405,
  retry: 'never',
  message: 'This method is not allowed here',
})
/** This server does not implement the method (RFC 9110 section 15.6.2). */
export const methodNotImplemented = defineError('method_not_implemented', {
  status: 501,
  retry: 'never',
  message: 'This method is not implemented',
})
/** None of the accepted media types is available (RFC 9110 section 15.5.7). */
export const notAcceptable = defineError('not_acceptable', {
  status: 406,
  retry: 'never',
  message: 'Only JSON is available',
})
/** The request did not arrive in time (RFC 9110 section 15.5.9). */
export const requestTimeout = defineError('request_timeout', {
  status: 408,
  retry: 'later',
  message: 'The request took too long to arrive',
})
/** The expected version is not the current one (RFC 9110 section 15.5.13). */
export const preconditionFailed = defineError('precondition_failed', {
  status: 412,
  retry: 'now',
  message: 'The resource has changed: read it again',
})
/** The body exceeds the size limit (RFC 9110 section 15.5.14). */
export const payloadTooLarge = defineError('payload_too_large', {
  status: 413,
  retry: 'never',
  message: 'The body is too large',
})
/** The request target exceeds the length limit (RFC 9110 section 15.5.15). */
export const uriTooLong = defineError('uri_too_long', {
  status: 414,
  retry: 'never',
  message: 'The request target is too long',
})
/** The media type or content coding is not supported (RFC 9110 section 15.5.16). */
export const unsupportedMediaType = defineError('unsupported_media_type', {
  status: 415,
  retry: 'never',
  message: 'Only uncompressed JSON in UTF-8 is accepted',
})
/** The request requires If-Match (RFC 6585 section 3). */
export const preconditionRequired = defineError('precondition_required', {
  status: 428,
  retry: 'never',
  message: 'If-Match is required: send the ETag of the version to change',
})
/** Too many requests (RFC 6585 section 4). The `Retry-After` header is set on the error. */
export const rateLimited = defineError('rate_limited', { status: 429, retry: 'later', message: 'Too many requests' })
/** The expectation is not supported (RFC 9110 section 15.5.18). */
export const expectationFailed = defineError('expectation_failed', {
  status: 417,
  retry: 'never',
  message: 'The only supported expectation is 100-continue',
})
/** The header section exceeds the size limit (RFC 6585 section 5). */
export const headersTooLarge = defineError('headers_too_large', {
  status: 431,
  retry: 'never',
  message: 'The header section is too large',
})
/** The request uses another major version of HTTP (RFC 9110 section 15.6.6). */
export const httpVersionNotSupported = defineError('http_version_not_supported', {
  status: 505,
  retry: 'never',
  message: 'Only HTTP/1.1 and HTTP/1.0 are supported',
})
/** A dependency is currently unavailable. */
export const unavailable = defineError('unavailable', {
  status: 503,
  retry: 'later',
  message: 'The service is temporarily unavailable: try again later',
})
/** A record is encrypted with a key that is not configured. */
export const keyUnknown = defineError('key_unknown', {
  status: 503,
  retry: 'later',
  message: 'The record is encrypted with a key that is not configured',
})
/**
 * A record cannot be decrypted at its location although the key is correct: it was altered, or copied from another
 * record.
 */
export const recordAltered = defineError('record_altered', {
  status: 500,
  retry: 'never',
  message: 'The encrypted record was altered',
})
