import type { RotationCounts, RotationPart } from '../mongo/rotation.ts'

/**
 * Rotates a whole collection: a slice ends after some seconds, so a slow machine needs several for a few records.
 * @returns the counts of all slices
 */
export async function rotateAll(rotatePart: (after: string | null) => Promise<RotationPart>): Promise<RotationCounts> {
  let sum: RotationCounts = { examined: 0, changed: 0, unknown: 0, altered: 0 }
  let after: string | null = null
  do {
    const { next, ...part } = await rotatePart(after)
    sum = {
      examined: sum.examined + part.examined,
      changed: sum.changed + part.changed,
      unknown: sum.unknown + part.unknown,
      altered: sum.altered + part.altered,
    }
    after = next
  } while (after !== null)
  return sum
}
