import type { RowData } from '@tanstack/react-table'
import { BusyButton } from '../forms/busy-button.tsx'
import { QueryProblem } from '../frame/query-problem.tsx'
import { texts } from '../texts/texts.ts'
import { DataTable, type DataTableProps } from './data-table.tsx'
import { EmptyNotice } from './empty-notice.tsx'

/** What an empty list says. */
export interface EmptyTexts {
  readonly emptyTitle: string
  readonly emptyHint: string
}

/** A list whose pages are read one after the other. */
interface PagedQuery<Item> {
  readonly data: { readonly pages: readonly { readonly items: readonly Item[] }[] } | undefined
  readonly error: Error | null
  readonly hasNextPage: boolean
  readonly isFetchingNextPage: boolean
  readonly fetchNextPage: () => Promise<unknown>
}

interface PagedTableProps<Item extends RowData> extends Omit<DataTableProps<Item>, 'items'> {
  readonly query: PagedQuery<Item>
  readonly empty: EmptyTexts | null
}

/** A list of the operator API: what went wrong, its rows, and the button for more of them if there are more. */
export function PagedTable<Item extends RowData>({ query, empty, ...table }: PagedTableProps<Item>) {
  const items = query.data?.pages.flatMap((page) => page.items)
  return (
    <>
      <QueryProblem error={query.error} />
      {items !== undefined && items.length > 0 && <DataTable {...table} items={items} />}
      {items?.length === 0 && empty !== null && <EmptyNotice title={empty.emptyTitle} hint={empty.emptyHint} />}
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
