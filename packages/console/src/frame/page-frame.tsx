import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect } from 'react'
import { texts } from '../texts/texts.ts'

/** A page: its title in the window and as a heading, and its content. */
export function PageFrame({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · ${texts.product}`
  }, [title])
  return (
    <main id="content" className="mx-auto w-full max-w-[110rem] px-3 pb-10">
      <h1 className="my-2 text-xl font-semibold break-all">{title}</h1>
      {children}
    </main>
  )
}

/** What stands at an address without a page. */
export function NotFoundPage() {
  return (
    <PageFrame title={texts.frame.notFound}>
      <Link to="/events">{texts.frame.toEvents}</Link>
    </PageFrame>
  )
}
