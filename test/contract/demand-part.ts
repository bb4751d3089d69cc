import { partialDeepStrictEqual } from 'node:assert/strict'

/**
 * Demands that a value has all that is promised. More does no harm.
 * @throws with `who` and the differences, which vitest keeps out of the messages of its own errors
 */
export function demandPart(who: string, value: object, promised: object): void {
  try {
    partialDeepStrictEqual(value, promised)
  } catch (error) {
    throw new Error(`${who}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
