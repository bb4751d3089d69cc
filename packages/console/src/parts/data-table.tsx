// A long table. Only the rows near the visible part are in the document, all of the same height. The keys j and k move between
// the first links of all rows.

import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useRef, useState } from 'react'
import { useKeys } from '../frame/use-keys.ts'

/** A column. A text as its cell is also the tooltip, as it may be cut. */
export interface Column<Item> {
  readonly head: string
  readonly cell: (item: Item) => ReactNode
  /** Classes of its cells, for example `hidden md:table-cell`. */
  readonly className?: string
  /** How many characters a cell shows: the column is as wide as the longest of them, up to `most`, by default 26. */
  readonly chars?: (item: Item) => number
  readonly most?: number
}

export interface DataTableProps<Item> {
  readonly caption: string
  readonly columns: readonly Column<Item>[]
  readonly items: readonly Item[]
  readonly keyOf: (item: Item) => string
}

const ROW_PX = 34
const BEYOND_THE_WINDOW = 15

export function DataTable<Item>({ caption, columns, items, keyOf }: DataTableProps<Item>) {
  const body = useRef<HTMLTableSectionElement>(null)
  const [top, setTop] = useState(0)
  const virtualizer = useWindowVirtualizer({
    count: items.length,
    estimateSize: () => ROW_PX,
    overscan: BEYOND_THE_WINDOW,
    scrollMargin: top,
  })
  useRowKeys(body)
  const shown = virtualizer.getVirtualItems()
  const before = (shown[0]?.start ?? top) - top
  const after = virtualizer.getTotalSize() - ((shown.at(-1)?.end ?? top) - top)
  const measureTop = (table: HTMLTableElement | null): void => {
    if (table !== null) setTop(Math.round(table.getBoundingClientRect().top + window.scrollY))
  }
  return (
    <table ref={measureTop} className="w-full table-fixed border-collapse" aria-rowcount={items.length + 1}>
      <caption className="sr-only">{caption}</caption>
      <thead>
        <tr className="border-b border-edge text-left">
          {columns.map((column) => (
            <th
              key={column.head}
              scope="col"
              style={{ width: widthOf(column, items) }}
              className={`px-2 py-1 font-normal text-quiet ${column.className ?? ''}`}
            >
              {column.head}
            </th>
          ))}
        </tr>
      </thead>
      <Space height={before} />
      <tbody ref={body}>
        {shown.map(({ index }) => {
          const item = items[index]
          if (item === undefined) return null
          return (
            <tr
              key={keyOf(item)}
              data-row={index}
              aria-rowindex={index + 2}
              className="h-[34px] border-b border-line focus-within:bg-raised hover:bg-raised"
            >
              {columns.map(({ head, cell, className = '' }) => {
                const content = cell(item)
                return (
                  <td
                    key={head}
                    title={typeof content === 'string' ? content : undefined}
                    className={`truncate px-2 ${className}`}
                  >
                    {content}
                  </td>
                )
              })}
            </tr>
          )
        })}
      </tbody>
      <Space height={after} />
    </table>
  )
}

const MOST_CHARS = 26

/** The width that the cells of a column need. Undefined: it shares what is left, or its classes say it. */
function widthOf<Item>({ head, chars, most = MOST_CHARS }: Column<Item>, items: readonly Item[]): string | undefined {
  if (chars === undefined) return undefined
  const longest = items.reduce((found, item) => Math.max(found, chars(item)), head.length)
  return `min(${Math.min(longest, most)}ch + 1.25rem, 38vw)`
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

/** The keys j and k: they move the focus to the first link of the next or the previous row, at first to the one on top of the window. */
function useRowKeys(body: { readonly current: HTMLTableSectionElement | null }): void {
  const move = (step: number): void => {
    const rows = [...(body.current?.rows ?? [])]
    const focused = rows.findIndex((row) => row.contains(document.activeElement))
    const top = rows.findIndex((row) => row.getBoundingClientRect().top >= 0)
    rows[focused === -1 ? top : focused + step]?.querySelector<HTMLElement>('a, button')?.focus()
  }
  useKeys({ j: () => move(1), k: () => move(-1) })
}
