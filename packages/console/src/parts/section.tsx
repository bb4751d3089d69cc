import type { ReactNode } from 'react'

/** A part of a page under a heading. */
export function Section({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="mt-5">
      <h2 className="mb-1 wrap-anywhere border-b border-edge text-base font-semibold">{title}</h2>
      {children}
    </section>
  )
}
