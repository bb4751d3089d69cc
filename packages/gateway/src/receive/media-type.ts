import { badRequest, unsupportedMediaType } from '@oncehook/kernel/error-codes'
import { headerLines } from '@oncehook/webhooks/delivery'
import { parse } from 'content-type'

// What nearly all of them say, which needs no parser.
const USUAL: ReadonlySet<string> = new Set(['application/json', 'application/json; charset=utf-8'])
const FORM = 'application/x-www-form-urlencoded'

/**
 * Lets pass what says it is JSON in UTF-8 (or a form, from a provider that sends such), or says nothing: providers leave
 * the type out.
 * @throws unsupportedMediaType, or badRequest for two lines of Content-Type
 */
export function refuseMediaType(rawHeaders: readonly string[], takesForms: boolean): void {
  const lines = headerLines(rawHeaders, 'content-type')
  const [value] = lines
  if (lines.length > 1) throw badRequest({ reason: 'content-type repeated' })
  if (value === undefined || USUAL.has(value)) return
  if (takesForms && parse(value).type === FORM) return
  if (!isJsonInUtf8(value)) throw unsupportedMediaType({}, { headers: { Accept: 'application/json' } })
}

/** Whether a Content-Type is `application/json` or a `+json` type, with no charset but UTF-8 (RFC 8259 section 11). */
export function isJsonInUtf8(value: string): boolean {
  const { type, parameters } = parse(value)
  const charset = parameters.charset?.toLowerCase()
  return /^application\/(?:[\w.+-]+\+)?json$/.test(type) && (charset === undefined || charset === 'utf-8')
}
