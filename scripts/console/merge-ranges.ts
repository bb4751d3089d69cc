/** Characters of a script, and how often Chromium ran them. Ranges lie within each other, never across. */
export interface CountedRange {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

/**
 * Merges what several runs of one script of this length have counted: the characters that no run has reached, as ranges with
 * the count 0 inside one with the count 1.
 */
export function mergeRanges(length: number, runs: readonly (readonly CountedRange[])[]): CountedRange[] {
  const reached = new Uint8Array(length)
  for (const run of runs) for (const [at, isReached] of reachedBy(length, run).entries()) reached[at] ||= isReached
  const merged: CountedRange[] = [{ startOffset: 0, endOffset: length, count: 1 }]
  for (let start = reached.indexOf(0); start !== -1; ) {
    const end = reached.indexOf(1, start)
    const endOffset = end === -1 ? length : end
    merged.push({ startOffset: start, endOffset, count: 0 })
    start = end === -1 ? -1 : reached.indexOf(0, end)
  }
  return merged
}

/** The characters that one run has reached: of a range inside another one, the inner count is right. */
function reachedBy(length: number, run: readonly CountedRange[]): Uint8Array {
  const reached = new Uint8Array(length)
  const outerFirst = run.toSorted((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset)
  for (const { startOffset, endOffset, count } of outerFirst) reached.fill(Math.min(count, 1), startOffset, endOffset)
  return reached
}
