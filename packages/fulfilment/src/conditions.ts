import { preconditionFailed } from '@oncehook/kernel/error-codes'
import { type Preconditions, readPreconditions } from '@oncehook/kernel/preconditions'

/**
 * Parses the preconditions of a request once, so that several versions can be checked. Null means that nothing exists.
 * @throws invalidRequest at once for invalid syntax; the check throws preconditionFailed with the current version
 */
export function readConditions(preconditions: Preconditions): (version: number | null) => void {
  const check = readPreconditions(preconditions)
  return (version) => {
    if (check(version) !== null) throw preconditionFailed({ version })
  }
}
