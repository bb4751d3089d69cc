import { type InfiniteData, type UseInfiniteQueryResult, useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { BusyButton } from './buttons.tsx'
import { DataTable, type DataTableProps } from './data-table.tsx'
import { Read } from './section.tsx'

const PAGE = 100

/** A list. `read` gets one of its pages, which starts `after` unless it is the first. Without a time, it is read again only on request. */
export function usePages<Page extends { readonly next: string | null }>(
  queryKey: readonly unknown[],
  read: (page: { readonly limit: number; readonly after?: string }) => Promise<Page>,
  refreshMs?: number,
) {
  return useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => read({ limit: PAGE, ...(pageParam === '' ? {} : { after: pageParam }) }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    refetchInterval: refreshMs ?? false,
  })
}

interface PagedTableProps<Item> extends Omit<DataTableProps<Item>, 'items'> {
  readonly query: UseInfiniteQueryResult<InfiniteData<{ readonly items: readonly Item[] }>>
  /** What stands instead of the table without rows. */
  readonly empty: ReactNode
}

/** A list of the operator API: what went wrong, its rows, and the button for more of them if there are more. */
export function PagedTable<Item>({ query, empty, ...table }: PagedTableProps<Item>) {
  const show = (items: readonly Item[]) => (items.length === 0 ? empty : <DataTable {...table} items={items} />)
  return (
    <>
      <Read query={query}>{({ pages }) => show(pages.flatMap((page) => page.items))}</Read>
      {query.hasNextPage && (
        <p className="py-3 text-center">
          <BusyButton isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Load more
          </BusyButton>
        </p>
      )}
    </>
  )
}
