// A list of the operator API, read page by page, as a table.

import { useInfiniteQuery } from '@tanstack/react-query'
import { texts } from '../texts/texts.ts'
import { BusyButton } from './buttons.tsx'
import { DataTable, type DataTableProps } from './data-table.tsx'
import { QueryProblem } from './problem-notice.tsx'
import { EmptyNotice, Loading } from './section.tsx'

/** The input for a page: its size, and where it starts unless it is the first. */
interface PageRequest {
  readonly limit: number
  readonly after?: string
}

/** A list: its key in the cache, and the call that reads one of its pages. */
interface Pages<Page> {
  readonly key: readonly unknown[]
  readonly read: (page: PageRequest) => Promise<Page>
  /** Milliseconds after which the list is read again. Without it, only on request. */
  readonly refreshMs?: number
}

const PAGE = 100

export function usePages<Page extends { readonly next: string | null }>({ key, read, refreshMs }: Pages<Page>) {
  return useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => read({ limit: PAGE, ...(pageParam === '' ? {} : { after: pageParam }) }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    refetchInterval: refreshMs ?? false,
  })
}

export interface EmptyTexts {
  readonly emptyTitle: string
  readonly emptyHint: string
  readonly emptyCommand?: string
}

interface PagedQuery<Item> {
  readonly data: { readonly pages: readonly { readonly items: readonly Item[] }[] } | undefined
  readonly error: Error | null
  readonly hasNextPage: boolean
  readonly isFetchingNextPage: boolean
  readonly fetchNextPage: () => Promise<unknown>
  readonly refetch: () => Promise<unknown>
}

interface PagedTableProps<Item> extends Omit<DataTableProps<Item>, 'items'> {
  readonly query: PagedQuery<Item>
  readonly empty: EmptyTexts | null
}

/** A list of the operator API: what went wrong, its rows, and the button for more of them if there are more. */
export function PagedTable<Item>({ query, empty, ...table }: PagedTableProps<Item>) {
  const items = query.data?.pages.flatMap((page) => page.items)
  return (
    <>
      <QueryProblem error={query.error} retry={() => void query.refetch()} />
      {items === undefined && query.error === null && <Loading />}
      {items !== undefined && items.length > 0 && <DataTable {...table} items={items} />}
      {items?.length === 0 && empty !== null && <Empty {...empty} />}
      {query.hasNextPage && (
        <p className="py-3 text-center">
          <BusyButton isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            {texts.frame.more}
          </BusyButton>
        </p>
      )}
    </>
  )
}

function Empty({ emptyTitle, emptyHint, emptyCommand }: EmptyTexts) {
  return <EmptyNotice title={emptyTitle} hint={emptyHint} {...(emptyCommand && { command: emptyCommand })} />
}
