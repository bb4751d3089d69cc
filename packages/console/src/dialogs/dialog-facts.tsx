import type { ReactNode } from 'react'

/** Names with their values, one below the other, as a dialog has room for them. */
export function DialogFacts({ items }: { readonly items: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="grid gap-x-3 gap-y-1 sm:grid-cols-[9rem_1fr]">
      {items.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-quiet">{name}</dt>
          <dd className="min-w-0 break-words">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
