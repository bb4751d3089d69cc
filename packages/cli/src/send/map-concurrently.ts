/** The results of `run` for each item, in the order of the list, with at most `limit` concurrent calls. */
export async function mapConcurrently<T, R>(
  list: readonly T[],
  limit: number,
  run: (member: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  const queue = list.entries()
  const work = async (): Promise<void> => {
    for (const [index, member] of queue) results[index] = await run(member)
  }
  await Promise.all(Array.from({ length: Math.min(limit, list.length) }, work))
  return results
}
