export type SummaryLines = ReturnType<typeof createSummaryLines>

const SUMMARY_MS = 1_000

/** Creates the timers of the summaries. They do not keep the process alive. */
export function createSummaryLines() {
  const waiting = new Set<() => void>()
  const run = (write: () => void): void => {
    if (waiting.delete(write)) write()
  }
  return {
    /** Calls `write` in a second, or at the stop if that comes first. */
    writeLater(write: () => void): void {
      waiting.add(write)
      setTimeout(run, SUMMARY_MS, write).unref()
    },
    /** Writes all that wait. Call it when nothing else can add to a line. */
    end(): void {
      for (const write of waiting) run(write)
    },
  }
}
