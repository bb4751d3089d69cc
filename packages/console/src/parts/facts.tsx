import type { ReactNode } from 'react'

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
