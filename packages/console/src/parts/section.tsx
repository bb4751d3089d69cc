import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { texts } from '../texts/texts.ts'
import { CopyButton } from './buttons.tsx'
import { QueryProblem } from './problem-notice.tsx'

export function Section({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="mt-5">
      <h2 className="mb-1 wrap-anywhere border-b border-edge text-base font-semibold">{title}</h2>
      {children}
    </section>
  )
}

type NamedValue = readonly [name: string, value: ReactNode]

/** Names with their values, in as many columns as fit, or in one. Values that are null are omitted. */
export function Facts(props: { readonly items: readonly NamedValue[]; readonly hasOneColumn?: boolean }) {
  const { items, hasOneColumn = false } = props
  return (
    <dl className={`grid gap-x-6 gap-y-1 ${hasOneColumn ? '' : 'sm:grid-cols-2 lg:grid-cols-3'}`}>
      {items
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div key={name} className="grid grid-cols-[minmax(9.5rem,auto)_1fr] gap-2 border-b border-line py-1">
            <dt className="text-quiet">{name}</dt>
            <dd className="min-w-0 break-words">{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** A name with its value, in a row of others. Nothing if the value is null. */
export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  if (children === null) return null
  return (
    <span>
      <span className="text-quiet">{name}</span> {children}
    </span>
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
          <code className="rounded bg-raised px-3 py-1.5">{command}</code>
          <CopyButton text={command} name="Copy" />
        </p>
      )}
    </div>
  )
}

/** What a query has read; until then, that it is being read. Above it, why it could not be read, and a button to try again. */
export function Read<Data>(props: {
  readonly query: Pick<UseQueryResult<Data>, 'data' | 'error' | 'refetch'>
  readonly children: (data: Data) => ReactNode
}) {
  const { data, error, refetch } = props.query
  return (
    <>
      <QueryProblem error={error} retry={() => void refetch()} />
      {data === undefined ? error === null && <Loading /> : props.children(data)}
    </>
  )
}

/** Where something is being read: the room of some rows, so that the page does not jump. */
function Loading() {
  return (
    <div role="status" className="my-3 grid gap-3">
      <span className="sr-only">{texts.loading}</span>
      {[1, 2, 3, 4, 5, 6].map((row) => (
        <span key={row} aria-hidden="true" className="h-5 animate-pulse rounded bg-raised" />
      ))}
    </div>
  )
}
