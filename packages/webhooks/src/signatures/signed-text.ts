import type { Delivery } from '../delivery.ts'
import type { SignedParts } from './signature.ts'

const PLACES = /(\{(?:body|timestamp|url|query|id)\})/

/** What a delivery fills in. */
interface SignedValues extends Pick<Delivery, 'rawBody' | 'query'> {
  readonly timestamp: string
  /** Empty if no id is signed. */
  readonly id: string
}

export const SIGNED_ID = /^[\w-]{1,255}$/

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

/** Whether a template has the id and the query, either of which could hold a part of the other. */
export function joinsIdAndQuery(template: string): boolean {
  return template.includes('{id}') && template.includes('{query}')
}

/**
 * Makes the signed parts of a delivery from a template; null if they could be split in another way, so that one signature
 * would fit two bodies, times, ids or queries. The template is split once, and the body is never decoded.
 */
export function prepareSignedText(template: string, url: string): (values: SignedValues) => SignedParts | null {
  const pieces = piecesOf(template)
  const isAmbiguous = prepareAmbiguity(template)
  return (values) => {
    if (isAmbiguous(values)) return null
    const { rawBody, query, timestamp, id } = values
    const known = new Map<string, string | Uint8Array>([
      ['{body}', rawBody],
      ['{timestamp}', timestamp],
      ['{id}', id],
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
  const isIdAmbiguous = prepareAmbiguityOfId(template)
  return (values) => {
    const { rawBody, query, timestamp } = values
    if (isIdAmbiguous(values) || (isTimeBefore && couldContinueTime(timestamp, rawBody))) return true
    if (isTimeBehind && isDigit(rawBody.at(-1))) return true
    return at !== -1 && (!QUERY.test(query) || isOfQuery(rawBody.at(isQueryBefore ? 0 : -1)))
  }
}

/**
 * Whether the id could end or begin elsewhere: beside a time in seconds or milliseconds, its digits could be those of the time;
 * beside a body, its characters could be those of the body. A time in ISO 8601 has one beginning and one end.
 */
function prepareAmbiguityOfId(template: string): (values: SignedValues) => boolean {
  const isBesideTime = /\{id\}[\w-]*\{timestamp\}|\{timestamp\}[\w-]*\{id\}/.test(template)
  const isBefore = /\{id\}[\w-]*\{body\}/.test(template)
  const isBehind = /\{body\}[\w-]*\{id\}/.test(template)
  return ({ rawBody, timestamp }) =>
    (isBesideTime && /^\d+$/.test(timestamp)) ||
    (isBefore && isOfId(rawBody.at(0))) ||
    (isBehind && isOfId(rawBody.at(-1)))
}

function isOfId(byte: number | undefined): boolean {
  return byte !== undefined && SIGNED_ID.test(String.fromCharCode(byte))
}

/**
 * Whether a body begins with a digit after a text that ends in one, such as a timestamp. The signed text could then be split
 * in two ways, one with a longer timestamp and a shorter body.
 */
export function couldContinueTime(before: string, rawBody: Uint8Array): boolean {
  return isDigit(before.charCodeAt(before.length - 1)) && isDigit(rawBody[0])
}

function isDigit(byte = 0): boolean {
  return byte >= 0x30 && byte <= 0x39
}

// Without blanks, quotes, brackets and braces: the body, which begins and ends with one of these, cannot be a part of a query.
const QUERY = /^[!#-;=?-Z^-z|~]*$/

function isOfQuery(byte: number | undefined): boolean {
  return byte !== undefined && QUERY.test(String.fromCharCode(byte))
}
