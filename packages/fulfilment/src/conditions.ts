import { matchesStrongly, matchesWeakly, parseEntityTagList } from '@oncehook/kernel/entity-tag'
import { preconditionFailed } from '@oncehook/kernel/error-codes'

/** The conditions of a request, in the syntax of the headers If-Match and If-None-Match. */
export interface Conditions {
  readonly ifMatch?: string | undefined
  readonly ifNoneMatch?: string | undefined
}

/** Checks conditions against the current version, null where nothing exists, in the order of RFC 9110 section 13.2.2. */
export type ConditionCheck = (version: number | null) => void

/**
 * Reads the conditions of a request, once, so that they can be checked against every version met.
 * @throws invalidRequest at once for broken syntax; the check throws preconditionFailed with the current version
 */
export function readConditions({ ifMatch, ifNoneMatch }: Conditions): ConditionCheck {
  const match = ifMatch === undefined ? null : parseEntityTagList(ifMatch)
  const noneMatch = ifNoneMatch === undefined ? null : parseEntityTagList(ifNoneMatch)
  return (version) => {
    if (match !== null && !matchesStrongly(match, version)) throw preconditionFailed({ version })
    if (noneMatch !== null && matchesWeakly(noneMatch, version)) throw preconditionFailed({ version })
  }
}
