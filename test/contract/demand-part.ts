import { partialDeepStrictEqual } from 'node:assert/strict'

/**
 * Checks that a value has everything that is promised. More is allowed.
 * @throws with `who` and the differences. A message of vitest does not contain them
 */
export function demandPart(who: string, value: object, promised: object): void {
  try {
    partialDeepStrictEqual(value, promised)
  } catch (error) {
    throw new Error(`${who}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
