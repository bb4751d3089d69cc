// The frame of every page. It also says, once for the whole page, that the gateway does not answer.

import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useCallback, useEffect, useRef, useSyncExternalStore } from 'react'
import { codeOf } from '../api/describe-problem.ts'
import { useSession } from '../api/session.ts'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { Instant } from '../parts/values.tsx'

/**
 * A page: its title in the window and as a heading, and its content. If the focused element is not on this page, the
 * heading gets the focus, so that keyboard and screen reader users begin there.
 */
export function PageFrame({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null)
  const isSignedIn = useSession() !== null
  useEffect(() => {
    document.title = `${title} · Oncehook`
  }, [title])
  useEffect(() => {
    if (isSignedIn && document.activeElement === document.body) heading.current?.focus({ preventScroll: true })
  }, [isSignedIn])
  return (
    <main id="content" className="mx-auto w-full max-w-[110rem] px-3 pb-10">
      <h1 ref={heading} tabIndex={-1} className="my-2 text-xl font-semibold break-all outline-none">
        {title}
      </h1>
      <AwayNotice />
      {children}
    </main>
  )
}

export function NotFoundPage() {
  return (
    <PageFrame title="This page does not exist.">
      <Link to="/">Go to the overview</Link>
    </PageFrame>
  )
}

/** What the parts of the page could not read because the gateway does not answer. */
const UNREAD = {
  type: 'active',
  predicate: ({ state }: { readonly state: { readonly error: unknown } }) =>
    state.error !== null && codeOf(state.error) === 'unreachable',
} as const

/** Says once for the whole page that the gateway does not answer, as long as a part of the page could not be read for that. */
function AwayNotice() {
  const client = useQueryClient()
  const cache = client.getQueryCache()
  const listen = useCallback((tell: () => void) => cache.subscribe(tell), [cache])
  const find = (): unknown => cache.findAll(UNREAD)[0]?.state.error ?? null
  const error = useSyncExternalStore(listen, find, find)
  if (error === null) return null
  const answeredAt = Math.max(0, ...cache.getAll().map(({ state }) => state.dataUpdatedAt))
  return (
    <ProblemNotice error={error} retry={() => void client.refetchQueries(UNREAD)}>
      {answeredAt > 0 && (
        <>
          Its last answer came at <Instant at={new Date(answeredAt).toISOString()} />
        </>
      )}
    </ProblemNotice>
  )
}
