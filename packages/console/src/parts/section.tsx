// The parts of a page: a heading with content, names with values, the notice of an empty list, and what stands there meanwhile.

import type { ReactNode } from 'react'
import { texts } from '../texts/texts.ts'
import { CopyButton } from './buttons.tsx'

export function Section({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="mt-5">
      <h2 className="mb-1 wrap-anywhere border-b border-edge text-base font-semibold">{title}</h2>
      {children}
    </section>
  )
}

/** Names with their values, in as many columns as fit. Values that are null are omitted. */
export function Facts({ items }: { readonly items: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="grid gap-x-6 gap-y-1 sm:grid-cols-2 lg:grid-cols-3">
      {items
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div key={name} className="grid grid-cols-[minmax(9rem,auto)_1fr] gap-2 border-b border-line py-1">
            <dt className="text-quiet">{name}</dt>
            <dd className="min-w-0 break-words">{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** What a list would show, and the next step, with a command if there is one. */
export function EmptyNotice(props: { readonly title: string; readonly hint: string; readonly command?: string }) {
  const { title, hint, command } = props
  return (
    <div className="mx-auto max-w-prose px-3 py-10 text-center">
      <p className="font-semibold">{title}</p>
      <p className="mt-1 text-quiet">{hint}</p>
      {command !== undefined && (
        <p className="mt-3 flex flex-wrap items-center justify-center gap-2">
          <code className="rounded bg-raised px-3 py-1.5 font-mono">{command}</code>
          <CopyButton text={command} name={texts.frame.copy} />
        </p>
      )}
    </div>
  )
}

const ROWS = [1, 2, 3, 4, 5, 6]

/** Where something is being read: the room of some rows, so that the page does not jump. */
export function Loading() {
  return (
    <div role="status" className="my-3 grid gap-3">
      <span className="sr-only">{texts.frame.loading}</span>
      {ROWS.map((row) => (
        <span key={row} aria-hidden="true" className="h-5 animate-pulse rounded bg-raised" />
      ))}
    </div>
  )
}
