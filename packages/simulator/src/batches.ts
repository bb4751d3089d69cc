/** Splits a list into parts of `size` items, in order. The last part may be shorter. */
export function toBatches<T>(list: readonly T[], size: number): T[][] {
  const parts = Math.ceil(list.length / size)
  return Array.from({ length: parts }, (_, index) => list.slice(index * size, (index + 1) * size))
}
