import type { Delivery } from '../delivery.ts'
import { couldContinueTime } from './could-continue-time.ts'
import type { SignedParts } from './signature.ts'

const PLACES = /(\{(?:body|timestamp|url|query)\})/

/** What a delivery fills in. */
interface SignedValues extends Pick<Delivery, 'rawBody' | 'query'> {
  readonly timestamp: string
}

/** The template in pieces: constant texts and places. */
function piecesOf(template: string): string[] {
  return template.split(PLACES).filter((piece) => piece !== '')
}

/** Whether a template has `{body}` once, each other place at most once, and no other braces. */
export function isTemplate(template: string): boolean {
  const places = piecesOf(template).filter((piece) => /[{}]/.test(piece))
  return (
    places.includes('{body}') && places.every((piece) => PLACES.test(piece)) && new Set(places).size === places.length
  )
}

/** Whether the time stands right beside the query. Digits of one could be those of the other. */
export function joinsTimeAndQuery(template: string): boolean {
  return /\{query\}\d*\{timestamp\}|\{timestamp\}\d*\{query\}/.test(template)
}

/**
 * Makes the signed parts of a delivery from a template; null if they could be split in another way, so that one signature
 * would fit two bodies, times or queries. The template is split once, and the body is never decoded.
 */
export function prepareSignedText(template: string, url: string): (values: SignedValues) => SignedParts | null {
  const pieces = piecesOf(template)
  const isAmbiguous = prepareAmbiguity(template)
  return (values) => {
    if (isAmbiguous(values)) return null
    const { rawBody, query, timestamp } = values
    const known = new Map<string, string | Uint8Array>([
      ['{body}', rawBody],
      ['{timestamp}', timestamp],
      ['{url}', url],
      ['{query}', query === '' ? '' : `?${query}`],
    ])
    return pieces.map((piece) => known.get(piece) ?? piece)
  }
}

function prepareAmbiguity(template: string): (values: SignedValues) => boolean {
  const isTimeBefore = /\{timestamp\}\d*\{body\}/.test(template)
  const isTimeBehind = /\{body\}\d*\{timestamp\}/.test(template)
  const at = template.indexOf('{query}')
  const isQueryBefore = at !== -1 && at < template.indexOf('{body}')
  return ({ rawBody, query, timestamp }) => {
    if (isTimeBefore && couldContinueTime(timestamp, rawBody)) return true
    if (isTimeBehind && isDigit(rawBody.at(-1))) return true
    return at !== -1 && (!QUERY.test(query) || isOfQuery(rawBody.at(isQueryBefore ? 0 : -1)))
  }
}

function isDigit(byte = 0): boolean {
  return byte >= 0x30 && byte <= 0x39
}

// Without blanks, quotes, brackets and braces: the body, which begins and ends with one of these, cannot be a part of a query.
const QUERY = /^[!#-;=?-Z^-z|~]*$/

function isOfQuery(byte: number | undefined): boolean {
  return byte !== undefined && QUERY.test(String.fromCharCode(byte))
}
