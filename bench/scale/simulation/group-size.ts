/*
 * A group commit has one command in flight, and the next group consists of what arrived meanwhile. If nothing did, the
 * next event to arrive is a group of one. With random arrivals, of which `arrivals` come during a command on average, the
 * mean size is therefore arrivals + P(none arrives) = arrivals + e^-arrivals.
 */

/** The mean size of a group if this number of events arrives during a command on average. */
export function groupSize(arrivals: number): number {
  return arrivals + Math.exp(-arrivals)
}

/** How many of `shards` a command with `size` records reaches on average, if each record is on any of them. */
export function shardsReached(size: number, shards: number): number {
  return shards * (1 - (1 - 1 / shards) ** size)
}
