import { defineError } from './errors.ts'

/** The request is broken HTTP (RFC 9112). */
export const badRequest = defineError('bad_request', {
  status: 400,
  retry: 'never',
  says: 'The request is not valid HTTP',
})
/** The body is not strict UTF-8 JSON (RFC 8259, RFC 7493). */
export const invalidBody = defineError('invalid_body', {
  status: 400,
  retry: 'never',
  says: 'The body is not valid JSON',
})
/** The request is well-formed, a member of it is not allowed. */
export const invalidRequest = defineError('invalid_request', {
  status: 400,
  retry: 'never',
  says: 'The request is not valid',
})
/** No credentials, or not the right ones (RFC 9110 section 15.5.2). */
export const unauthenticated = defineError('unauthenticated', {
  status: 401,
  retry: 'never',
  says: 'A valid token is needed',
})
/** Nothing is known under this path or id. */
export const notFound = defineError('not_found', { status: 404, retry: 'never', says: 'Nothing is found here' })
/** The method exists, not on this resource (RFC 9110 section 15.5.6): `Allow` rides on the headers. */
export const methodNotAllowed = defineError('method_not_allowed', {
  status: 405,
  retry: 'never',
  says: 'This method is not allowed here',
})
/** No method that this server implements (RFC 9110 section 15.6.2). */
export const methodNotImplemented = defineError('method_not_implemented', {
  status: 501,
  retry: 'never',
  says: 'This method is not implemented',
})
/** Nothing that the caller accepts can be sent (RFC 9110 section 15.5.7). */
export const notAcceptable = defineError('not_acceptable', {
  status: 406,
  retry: 'never',
  says: 'Only JSON can be sent here',
})
/** The request did not arrive in time (RFC 9110 section 15.5.9). */
export const requestTimeout = defineError('request_timeout', {
  status: 408,
  retry: 'later',
  says: 'The request took too long to arrive',
})
/** The expected version is not the current one (RFC 9110 section 15.5.13). */
export const preconditionFailed = defineError('precondition_failed', {
  status: 412,
  retry: 'now',
  says: 'The resource has changed: read it again',
})
/** The body is larger than allowed (RFC 9110 section 15.5.14). */
export const payloadTooLarge = defineError('payload_too_large', {
  status: 413,
  retry: 'never',
  says: 'The body is too large',
})
/** The request target is longer than allowed (RFC 9110 section 15.5.15). */
export const uriTooLong = defineError('uri_too_long', { status: 414, retry: 'never', says: 'The target is too long' })
/** The media type or the content coding is not taken here (RFC 9110 section 15.5.16). */
export const unsupportedMediaType = defineError('unsupported_media_type', {
  status: 415,
  retry: 'never',
  says: 'Only JSON in UTF-8, not encoded, is taken here',
})
/** An If-Match is demanded and none was sent (RFC 6585 section 3). */
export const preconditionRequired = defineError('precondition_required', {
  status: 428,
  retry: 'never',
  says: 'If-Match is required: send the ETag of the version that is to change',
})
/** Too many requests (RFC 6585 section 4): `Retry-After` rides on the headers. */
export const rateLimited = defineError('rate_limited', { status: 429, retry: 'later', says: 'Too many requests' })
/** The request expects something that this server does not know (RFC 9110 section 15.5.18). */
export const expectationFailed = defineError('expectation_failed', {
  status: 417,
  retry: 'never',
  says: 'Only 100-continue can be expected here',
})
/** The header section is larger than allowed (RFC 6585 section 5). */
export const headersTooLarge = defineError('headers_too_large', {
  status: 431,
  retry: 'never',
  says: 'The header section is too large',
})
/** The request is in another major version of HTTP (RFC 9110 section 15.6.6). */
export const httpVersionNotSupported = defineError('http_version_not_supported', {
  status: 505,
  retry: 'never',
  says: 'Only HTTP/1.1 and HTTP/1.0 are spoken here',
})
/** A dependency cannot be reached now. */
export const unavailable = defineError('unavailable', {
  status: 503,
  retry: 'later',
  says: 'The service cannot answer now: try again later',
})
/** What a record holds is encrypted by a key that is not among those of the settings. */
export const keyUnknown = defineError('key_unknown', {
  status: 503,
  retry: 'later',
  says: 'The record is encrypted by a key that is not there',
})
/** What a record holds does not decrypt in its place, with the right key: it was changed, or copied from another record. */
export const recordAltered = defineError('record_altered', {
  status: 500,
  retry: 'never',
  says: 'The encrypted record was altered',
})
