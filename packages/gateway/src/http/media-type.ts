import { badRequest, notAcceptable, unsupportedMediaType } from '@oncehook/kernel/http/error-codes'
import { headerLines } from '@oncehook/webhooks/providers'
import { parse } from 'content-type'
import type { Context } from 'koa'

// Nearly all deliveries have one of these values. They need no parser.
const USUAL: ReadonlySet<string> = new Set(['application/json', 'application/json; charset=utf-8'])
const FORM = 'application/x-www-form-urlencoded'

/**
 * Accepts JSON in UTF-8, a form if the provider sends forms, and a missing Content-Type, because some providers omit it.
 * @throws unsupportedMediaType, or badRequest for two Content-Type lines
 */
export function refuseMediaType(rawHeaders: readonly string[], takesForms: boolean): void {
  const lines = headerLines(rawHeaders, 'content-type')
  const [value] = lines
  if (lines.length > 1) throw badRequest({ reason: 'content-type repeated' })
  if (value === undefined || USUAL.has(value)) return
  if (takesForms && mediaTypeOf(value) === FORM) return
  if (!isJsonInUtf8(value)) throw unsupportedMediaType({}, { headers: { Accept: 'application/json' } })
}

/** The media type in a Content-Type, in lower case and without parameters. */
export function mediaTypeOf(value: string): string {
  return parse(value).type
}

/** Whether a Content-Type is `application/json` or a `+json` type, with no charset but UTF-8 (RFC 8259 section 11). */
export function isJsonInUtf8(value: string): boolean {
  const { type, parameters } = parse(value)
  const charset = parameters.charset?.toLowerCase()
  return /^application\/(?:[\w.+-]+\+)?json$/.test(type) && (charset === undefined || charset === 'utf-8')
}

/**
 * Rejects a request whose Accept header excludes JSON.
 * @throws notAcceptable
 */
export function refuseUnwanted(ctx: Context): void {
  if (ctx.accepts('application/json') === false) throw notAcceptable()
}
