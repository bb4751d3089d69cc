// The parts of a page: a heading with content, names with values, and the notice of an empty list.

import type { ReactNode } from 'react'

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

export function EmptyNotice({ title, hint }: { readonly title: string; readonly hint: string }) {
  return (
    <div className="px-3 py-10 text-center">
      <p className="font-semibold">{title}</p>
      <p className="mt-1 text-quiet">{hint}</p>
    </div>
  )
}
