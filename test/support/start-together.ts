/**
 * Waits for things that are being started side by side and gives those that came up to `resources`, which ends them side
 * by side as well. Throws the first failure, after all are either up or failed.
 */
export async function startTogether<T extends AsyncDisposable>(
  resources: AsyncDisposableStack,
  starts: readonly Promise<T>[],
): Promise<T[]> {
  const results = await Promise.allSettled(starts)
  const started = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  resources.defer(async () => {
    await Promise.all(started.map(async (one) => one[Symbol.asyncDispose]()))
  })
  for (const result of results) if (result.status === 'rejected') throw result.reason
  return started
}
