/** In which order a list of events arrives. */
export const arrivals = ['given', 'reversed', 'shuffled'] as const

/** As listed, the last first, or by chance. */
export type Arrival = (typeof arrivals)[number]

/** What `arrange` is to do with a list. */
export interface Arrangement {
  /** How often the whole list is sent. */
  readonly times: number
  readonly arrival: Arrival
  /** From 0 to below 1, as `Math.random`. */
  readonly random: () => number
}

/** The list as it will arrive. Repetitions follow the whole list, as the second tries of a real provider do, unless shuffled. */
export function arrange<T>(list: readonly T[], { times, arrival, random }: Arrangement): T[] {
  const once = arrival === 'reversed' ? list.toReversed() : list
  const all = Array.from({ length: times }, () => once).flat()
  return arrival === 'shuffled' ? shuffle(all, random) : all
}

/** Fisher and Yates. */
function shuffle<T>(list: T[], random: () => number): T[] {
  const rest = [...list]
  const shuffled: T[] = []
  while (rest.length > 0) shuffled.push(...rest.splice(Math.floor(random() * rest.length), 1))
  return shuffled
}
