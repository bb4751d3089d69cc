import type { ClaimsDeps } from '../claims/claims-deps.ts'
import { isIndexMissing } from '../claims/index-missing.ts'

/** Runs a search with the index `line_open`, or in another way while that index is missing. */
export type WithOpenLineIndex = <T>(search: (isThere: boolean) => Promise<T>) => Promise<T>

const LOOK_MS = 60_000

/**
 * Creates the choice of one process. The index can be missing, or still being built, after an upgrade: then it is looked for
 * once a minute.
 */
export function createWithOpenLineIndex({
  monotonicMs = () => performance.now(),
}: Pick<ClaimsDeps, 'monotonicMs'>): WithOpenLineIndex {
  let nextLookAt = Number.NEGATIVE_INFINITY
  return async (search) => {
    if (monotonicMs() < nextLookAt) return search(false)
    try {
      return await search(true)
    } catch (error) {
      if (!isIndexMissing(error)) throw error
      nextLookAt = monotonicMs() + LOOK_MS
      return search(false)
    }
  }
}
