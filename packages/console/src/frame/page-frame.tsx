import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { useSession } from '../api/session.ts'
import { texts } from '../texts/texts.ts'
import { AwayNotice } from './away-notice.tsx'

/**
 * A page: its title in the window and as a heading, and its content. If the focused element is not on this page, the
 * heading gets the focus, so that keyboard and screen reader users begin there.
 */
export function PageFrame({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null)
  const isSignedIn = useSession() !== null
  useEffect(() => {
    document.title = `${title} · ${texts.product}`
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

/** The page for an address that does not exist. */
export function NotFoundPage() {
  return (
    <PageFrame title={texts.frame.notFound}>
      <Link to="/events">{texts.frame.toEvents}</Link>
    </PageFrame>
  )
}
