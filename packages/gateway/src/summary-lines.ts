/** Log lines that cover several events each. */
export interface SummaryLines {
  /** Calls `write` in a second, or at the stop if that comes first. */
  writeLater(write: () => void): void
  /** Writes all that wait. Call it when nothing else can add to a line. */
  end(): void
}

const SUMMARY_MS = 1_000

/** Creates the timers of the summaries. They do not keep the process alive. */
export function createSummaryLines(): SummaryLines {
  const waiting = new Set<() => void>()
  const run = (write: () => void): void => {
    if (waiting.delete(write)) write()
  }
  return {
    writeLater(write) {
      waiting.add(write)
      setTimeout(run, SUMMARY_MS, write).unref()
    },
    end() {
      for (const write of waiting) run(write)
    },
  }
}
