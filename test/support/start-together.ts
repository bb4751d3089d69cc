/**
 * Waits for resources that start in parallel, and adds those that started to `resources`, which ends them in parallel
 * too. Throws the first failure after all have started or failed.
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
