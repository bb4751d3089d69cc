/** The list in parts of `size` members, in its order; the last part has what is left. */
export function toBatches<T>(list: readonly T[], size: number): T[][] {
  const parts = Math.ceil(list.length / size)
  return Array.from({ length: parts }, (_, index) => list.slice(index * size, (index + 1) * size))
}
