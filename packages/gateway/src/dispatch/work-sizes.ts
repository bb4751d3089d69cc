/** How a dispatcher is set. */
interface SizeSettings {
  readonly batchSize: number
  readonly concurrency: number
  /** How many events are claimed at once. Default: a batch. */
  readonly claimSize?: number | undefined
}

/** Numbers of events and batches that a dispatcher keeps to. */
export interface WorkSizes {
  /** The most events in a batch. */
  readonly batch: number
  /** The most events in a claim. */
  readonly claim: number
  /** The number of events that keeps the lanes of a backlog busy. The rest is left to other processes. */
  readonly mostClaimed: number
  /** The most new events in memory. */
  readonly maxHeld: number
  /** The most batches in progress. */
  readonly lanes: number
  /** The most batches of a backlog at the gentle pace: in progress, or called and not written yet. */
  readonly gentleBatches: number
  /** The most batches that were called and whose outcomes are not written yet. */
  readonly mostUnsettled: number
}

const BATCHES_AHEAD = 10
// Enough that calls do not wait for the database, few enough that not much is repeated after a crash.
const UNSETTLED_OF_A_LANE = 4

/** The sizes that follow from the settings of a dispatcher. */
export function workSizes({ batchSize, concurrency, claimSize = batchSize }: SizeSettings): WorkSizes {
  const mostUnsettled = concurrency * UNSETTLED_OF_A_LANE
  const half = Math.ceil(concurrency / 2)
  // A call with one event mostly waits for its answer: half of the calls would only halve the rate of its handler.
  const isSingle = batchSize === 1
  const claim = Math.max(batchSize, claimSize)
  return {
    batch: batchSize,
    claim,
    mostClaimed: Math.max(batchSize * ((isSingle ? concurrency : half) + 1), claim),
    maxHeld: claim * BATCHES_AHEAD,
    lanes: concurrency,
    gentleBatches: isSingle ? concurrency + mostUnsettled : half,
    mostUnsettled,
  }
}

/** What limits the next batch beside the settings. */
interface Circumstances {
  /** Whether a backlog is processed at the gentle pace. */
  readonly isGentle: boolean
  /** How many batches have been called, and their outcomes are not written yet. */
  readonly unwritten: number
  /** The most events that the rate of the handler allows. */
  readonly allowed: number
}

// A larger batch of a backlog keeps the gateway and the database from deliveries for longer, a smaller one costs more for
// each event: docs/performance.md.
const GENTLE_BATCH = 125

/**
 * The most events of the next batch, and how many batches may be in progress. At the gentle pace those whose outcomes are not
 * written yet count too, because a backlog costs the database as much for its outcomes as for its calls.
 */
export function roomNow(
  { batch, lanes, gentleBatches }: Pick<WorkSizes, 'batch' | 'lanes' | 'gentleBatches'>,
  { isGentle, unwritten, allowed }: Circumstances,
): { readonly limit: number; readonly lanes: number } {
  if (!isGentle) return { limit: Math.min(batch, allowed), lanes }
  return { limit: Math.min(batch, allowed, GENTLE_BATCH), lanes: Math.min(lanes, gentleBatches - unwritten) }
}
