import { invalidRequest } from './error-codes.ts'

/** The preconditions of a request, in the syntax of the headers `If-Match` and `If-None-Match`. */
export interface Preconditions {
  readonly ifMatch?: string | undefined
  readonly ifNoneMatch?: string | undefined
}

/**
 * Checks a version, in the order of RFC 9110 section 13.2.2. Returns the precondition that fails, or null. A null version
 * means that nothing exists.
 */
type PreconditionCheck = (version: number | null) => 'If-Match' | 'If-None-Match' | null

/**
 * Parses the preconditions of a request once, so that several versions can be checked.
 * @throws invalidRequest at once for invalid syntax
 */
export function readPreconditions({ ifMatch, ifNoneMatch }: Preconditions): PreconditionCheck {
  const match = ifMatch === undefined ? null : parseEntityTagList(ifMatch)
  const noneMatch = ifNoneMatch === undefined ? null : parseEntityTagList(ifNoneMatch)
  return (version) => {
    if (match !== null && !matchesStrongly(match, version)) return 'If-Match'
    return noneMatch !== null && matchesWeakly(noneMatch, version) ? 'If-None-Match' : null
  }
}

/** An entity tag in a list (RFC 9110 section 8.8.3). */
export interface EntityTag {
  readonly weak: boolean
  readonly value: string
}

/** A parsed `If-Match` or `If-None-Match`: any representation, or one of these tags. */
export type EntityTagList = '*' | readonly EntityTag[]

/** The strong entity tag of a version: `"7"`. */
export function formatEntityTag(version: number): string {
  return `"${version}"`
}

// etagc of RFC 9110 section 8.8.3: no control characters, whitespace or quotes. A backslash is an ordinary character.
const TAG = /(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/y
const BLANKS = /[ \t]*/y
const ANY = /^[ \t]*\*[ \t]*$/

/**
 * Parses the value of `If-Match` or `If-None-Match`. Tags may contain commas. Empty list elements are ignored (RFC
 * 9110 section 5.6.1). Own code, because `fresh` reads only `If-None-Match`, splits it at every comma, and ignores
 * invalid syntax.
 * @throws invalidRequest for anything else, so that an invalid precondition is never ignored
 */
export function parseEntityTagList(value: string): EntityTagList {
  if (ANY.test(value)) return '*'
  const tags: EntityTag[] = []
  let position = 0
  const skipBlanks = (): void => {
    BLANKS.lastIndex = position
    BLANKS.exec(value)
    position = BLANKS.lastIndex
  }
  for (;;) {
    skipBlanks()
    TAG.lastIndex = position
    const found = TAG.exec(value)
    if (found !== null) {
      tags.push({ weak: found[1] !== undefined, value: found[2] ?? '' })
      position = TAG.lastIndex
      skipBlanks()
    }
    if (position === value.length) break
    if (value[position] !== ',') throw malformed()
    position += 1
  }
  if (tags.length === 0) throw malformed()
  return tags
}

function malformed(): Error {
  return invalidRequest({}, { message: 'Expected * or a list of entity tags in double quotes' })
}

/**
 * Whether a list matches this version by strong comparison (RFC 9110 section 8.8.3.2). Null: the resource does not
 * exist.
 */
function matchesStrongly(list: EntityTagList, version: number | null): boolean {
  if (version === null) return false
  return list === '*' || list.some((tag) => !tag.weak && tag.value === String(version))
}

/** Whether a list matches this version by weak comparison. Null: the resource does not exist. */
function matchesWeakly(list: EntityTagList, version: number | null): boolean {
  if (version === null) return false
  return list === '*' || list.some((tag) => tag.value === String(version))
}
