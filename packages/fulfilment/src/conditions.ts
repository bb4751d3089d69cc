import { matchesStrongly, matchesWeakly, parseEntityTagList } from '@oncehook/kernel/entity-tag'
import { preconditionFailed } from '@oncehook/kernel/error-codes'

/** Preconditions of a request, in the syntax of the If-Match and If-None-Match headers. */
export interface Conditions {
  readonly ifMatch?: string | undefined
  readonly ifNoneMatch?: string | undefined
}

/**
 * Checks preconditions against the current version in the order of RFC 9110 section 13.2.2. Null means that nothing
 * exists.
 */
export type ConditionCheck = (version: number | null) => void

/**
 * Parses the preconditions of a request once, so that they can be checked against several versions.
 * @throws invalidRequest at once for invalid syntax; the check throws preconditionFailed with the current version
 */
export function readConditions({ ifMatch, ifNoneMatch }: Conditions): ConditionCheck {
  const match = ifMatch === undefined ? null : parseEntityTagList(ifMatch)
  const noneMatch = ifNoneMatch === undefined ? null : parseEntityTagList(ifNoneMatch)
  return (version) => {
    if (match !== null && !matchesStrongly(match, version)) throw preconditionFailed({ version })
    if (noneMatch !== null && matchesWeakly(noneMatch, version)) throw preconditionFailed({ version })
  }
}
