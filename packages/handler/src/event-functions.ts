/** Returns the function for a type of event; undefined if there is none. */
export type FindFunction<Function> = (type: string) => Function | undefined

/** Whether a text is a type or a pattern: `a.b`, `a.*` for every type below `a`, or `*` for all. */
export function isTypePattern(text: string): boolean {
  return /^(?:\*|[^*]+(?<=\.)\*|[^*]+)$/.test(text)
}

/** Prepares the search for the function of a type. The exact type comes first, then the longest pattern. */
export function findFunctions<Function>(on: Readonly<Record<string, Function>>): FindFunction<Function> {
  const exact = new Map(Object.entries(on))
  const patterns = Object.entries(on)
    .filter(([pattern]) => pattern.endsWith('*'))
    .map(([pattern, found]) => ({ start: pattern.slice(0, -1), found }))
    .toSorted((one, other) => other.start.length - one.start.length)
  return (type) => exact.get(type) ?? patterns.find(({ start }) => type.startsWith(start))?.found
}
