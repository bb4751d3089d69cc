/** The possible orders of arrival. */
export const arrivals = ['given', 'reversed', 'shuffled'] as const

/** As listed, the last first, or random. */
export type Arrival = (typeof arrivals)[number]

/** The options of `arrange`. */
export interface Arrangement {
  /** How many times the list is sent. */
  readonly times: number
  readonly arrival: Arrival
  /** From 0 to below 1, as `Math.random`. */
  readonly random: () => number
}

/** The list in order of arrival. Repetitions follow the whole list, like the retries of a real provider, unless shuffled. */
export function arrange<T>(list: readonly T[], { times, arrival, random }: Arrangement): T[] {
  const once = arrival === 'reversed' ? list.toReversed() : list
  const all = Array.from({ length: times }, () => once).flat()
  return arrival === 'shuffled' ? shuffle(all, random) : all
}

/** Fisher-Yates shuffle. */
function shuffle<T>(list: T[], random: () => number): T[] {
  const rest = [...list]
  const shuffled: T[] = []
  while (rest.length > 0) shuffled.push(...rest.splice(Math.floor(random() * rest.length), 1))
  return shuffled
}

/** Splits a list into parts of `size` items, in order. The last part may be shorter. */
export function toBatches<T>(list: readonly T[], size: number): T[][] {
  const parts = Math.ceil(list.length / size)
  return Array.from({ length: parts }, (_, index) => list.slice(index * size, (index + 1) * size))
}
