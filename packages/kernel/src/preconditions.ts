import { matchesStrongly, matchesWeakly, parseEntityTagList } from './entity-tag.ts'

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
