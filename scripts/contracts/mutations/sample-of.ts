/** How many to choose, and a number that decides which. The next number chooses others. */
export interface Choice {
  readonly count: number
  readonly turn: number
}

/** A part of a list: about `count` members, from all over the list. Successive turns go through all of it. */
export function sampleOf<T>(list: readonly T[], { count, turn }: Choice): T[] {
  const turns = Math.ceil(list.length / count)
  return list.filter((_, index) => index % turns === turn % turns)
}
