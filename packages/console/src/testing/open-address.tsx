import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createMemoryHistory, RouterProvider } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { renderToPipeableStream } from 'react-dom/server'
import { pageRouter } from '../frame/router.tsx'

/**
 * Opens an address of the page without a browser: draws it, makes the calls of its parts, and draws it with their answers, until
 * no part asks for more.
 * @throws what a call or a part throws
 */
export async function openAddress(address: string): Promise<void> {
  pageRouter.update({ ...pageRouter.options, history: createMemoryHistory({ initialEntries: [address] }) })
  await pageRouter.load()
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } })
  const asked = new Set<string>()
  for (;;) {
    await draw(
      <QueryClientProvider client={client}>
        <RouterProvider router={pageRouter} />
      </QueryClientProvider>,
    )
    const all = client.getQueryCache().getAll()
    const fresh = all.filter(({ queryHash }) => !asked.has(queryHash))
    if (fresh.length === 0) return
    for (const { queryHash } of fresh) asked.add(queryHash)
    await Promise.all(fresh.map((query) => query.fetch()))
  }
}

function draw(page: ReactNode): Promise<void> {
  return new Promise((onAllReady, onError) => {
    renderToPipeableStream(page, { onAllReady, onError })
  })
}
