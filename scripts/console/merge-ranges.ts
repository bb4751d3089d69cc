/** A range of characters in a script, and how often Chromium ran it. Ranges may be nested, but never overlap partly. */
export interface CountedRange {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

/**
 * Merges the counts of several runs of a script of this length. The result is one range with the count 1, followed by
 * the ranges inside it that no run has reached, with the count 0.
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

/** The characters that one run has reached. Where ranges are nested, the innermost count applies. */
function reachedBy(length: number, run: readonly CountedRange[]): Uint8Array {
  const reached = new Uint8Array(length)
  const outerFirst = run.toSorted((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset)
  for (const { startOffset, endOffset, count } of outerFirst) reached.fill(Math.min(count, 1), startOffset, endOffset)
  return reached
}
