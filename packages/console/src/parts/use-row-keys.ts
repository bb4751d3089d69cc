import { useEffect, useRef } from 'react'
import { useKeys } from '../frame/use-keys.ts'

interface RowKeys {
  readonly body: { readonly current: HTMLTableSectionElement | null }
  readonly count: number
  /** Brings a row into the document and into the window. */
  readonly scrollTo: (index: number) => void
}

/** The keys j and k: they move the focus to the first link of the next or the previous row. */
export function useRowKeys({ body, count, scrollTo }: RowKeys): void {
  const wanted = useRef<number | null>(null)
  const focusWanted = (): void => {
    if (wanted.current === null) return
    const link = body.current?.querySelector<HTMLElement>(`[data-row="${wanted.current}"] :is(a, button)`)
    if (!link) return
    wanted.current = null
    link.focus({ preventScroll: true })
  }
  // A row that was far away comes into the document with a later render.
  useEffect(focusWanted)
  const move = (step: number): void => {
    const row = document.activeElement?.closest('[data-row]')
    const from = body.current?.contains(row ?? null) === true ? Number(row?.getAttribute('data-row')) : -1
    const next = from === -1 && step < 0 ? 0 : Math.min(Math.max(from + step, 0), count - 1)
    if (count === 0) return
    wanted.current = next
    scrollTo(next)
    focusWanted()
  }
  useKeys({ j: () => move(1), k: () => move(-1) })
}
