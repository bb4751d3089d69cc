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

/**
 * How many batches may be in progress now. `unwritten`: how many have been called, and their outcomes are not written yet.
 * At the gentle pace they count too, because a backlog costs the database as much for its outcomes as for its calls.
 */
export function lanesNow(
  { lanes, gentleBatches }: Pick<WorkSizes, 'lanes' | 'gentleBatches'>,
  isGentle: boolean,
  unwritten: number,
): number {
  return isGentle ? Math.min(lanes, gentleBatches - unwritten) : lanes
}
