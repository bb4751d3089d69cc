import { createColumnHelper, type Row, type RowData, tableFeatures, useTable } from '@tanstack/react-table'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useMemo, useRef, useState } from 'react'
import { useRowKeys } from './use-row-keys.ts'

/** A column: its head, its cell, and the width below which it is hidden. */
export interface Column<Item> {
  readonly id: string
  readonly head: string
  readonly cell: (item: Item) => ReactNode
  /** Classes of its cells, for example `hidden md:table-cell`. */
  readonly className?: string
}

/** What a table shows. The keys j and k move between the first links of its rows. */
export interface DataTableProps<Item extends RowData> {
  readonly caption: string
  readonly columns: readonly Column<Item>[]
  readonly items: readonly Item[]
  readonly keyOf: (item: Item) => string
}

const ROW_PX = 34
const BEYOND_THE_WINDOW = 15

const features = tableFeatures({})

type Features = typeof features

/** A table that renders only the rows near the visible part. All rows have the same height. */
export function DataTable<Item extends RowData>({ caption, columns, items, keyOf }: DataTableProps<Item>) {
  const body = useRef<HTMLTableSectionElement>(null)
  const [top, setTop] = useState(0)
  const rows = useTableRows({ columns, items, keyOf })
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_PX,
    overscan: BEYOND_THE_WINDOW,
    scrollMargin: top,
    getItemKey: (index) => rows[index]?.id ?? index,
  })
  useRowKeys({ body, count: rows.length, scrollTo: (index) => virtualizer.scrollToIndex(index) })
  const shown = virtualizer.getVirtualItems()
  const before = (shown[0]?.start ?? top) - top
  const after = virtualizer.getTotalSize() - ((shown.at(-1)?.end ?? top) - top)
  const measureTop = (table: HTMLTableElement | null): void => {
    if (table !== null) setTop(Math.round(table.getBoundingClientRect().top + window.scrollY))
  }
  return (
    <table ref={measureTop} className="w-full table-fixed border-collapse" aria-rowcount={rows.length + 1}>
      <caption className="sr-only">{caption}</caption>
      <thead>
        <tr className="border-b border-edge text-left">
          {columns.map(({ id, head, className = '' }) => (
            <th key={id} scope="col" className={`bg-ground px-2 py-1 font-semibold ${className}`}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <Space height={before} />
      <tbody ref={body}>
        {shown.map(({ index, key }) => {
          const row = rows[index]
          return row === undefined ? null : <DataRow key={key} row={row} index={index} columns={columns} />
        })}
      </tbody>
      <Space height={after} />
    </table>
  )
}

function useTableRows<Item extends RowData>(props: Omit<DataTableProps<Item>, 'caption'>): Row<Features, Item>[] {
  const { columns, items, keyOf } = props
  const defined = useMemo(() => {
    const helper = createColumnHelper<Features, Item>()
    return columns.map(({ id, head, cell }) =>
      helper.display({ id, header: head, cell: ({ row }) => cell(row.original) }),
    )
  }, [columns])
  const data = useMemo(() => [...items], [items])
  return useTable({ features, columns: defined, data, getRowId: keyOf }).getRowModel().rows
}

function DataRow<Item extends RowData>(props: {
  readonly row: Row<Features, Item>
  readonly index: number
  readonly columns: readonly Column<Item>[]
}) {
  const { row, index, columns } = props
  return (
    <tr
      data-row={index}
      aria-rowindex={index + 2}
      className="h-[34px] border-b border-line focus-within:bg-raised hover:bg-raised"
    >
      {columns.map(({ id, cell, className = '' }) => (
        <td key={id} className={`truncate px-2 ${className}`}>
          {cell(row.original)}
        </td>
      ))}
    </tr>
  )
}

/** Fills the space of rows that are not rendered. Its cell spans one column: more would show a column that is hidden in a narrow window. */
function Space({ height }: { readonly height: number }) {
  if (height <= 0) return null
  return (
    <tbody aria-hidden="true">
      <tr>
        <td style={{ height }} />
      </tr>
    </tbody>
  )
}
