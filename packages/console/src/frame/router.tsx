import { createRootRoute, createRoute, createRouter, Navigate } from '@tanstack/react-router'
import { AuditPage } from '../audit/audit-page.tsx'
import { EventPage } from '../event/event-page.tsx'
import { readEventSearch } from '../events/event-search.ts'
import { EventsPage } from '../events/events-page.tsx'
import { HandlersPage } from '../handlers/handlers-page.tsx'
import { OverviewPage, readPeriod } from '../overview/overview-page.tsx'
import { ProvidersPage } from '../providers/providers-page.tsx'
import { ReceiptsPage, readReceiptSearch } from '../receipts/receipts-page.tsx'
import { RefusedPage, readRefusedSearch } from '../refused/refused-page.tsx'
import { ReplayPage, ReplaysPage } from '../replays/replays-page.tsx'
import { SessionsPage } from '../sessions/sessions-page.tsx'
import { NotFoundPage } from './page-frame.tsx'
import { Shell } from './shell.tsx'

const root = createRootRoute({ component: Shell, notFoundComponent: NotFoundPage })
const getParentRoute = () => root

const routeTree = root.addChildren([
  createRoute({ getParentRoute, path: '/', component: OverviewPage, validateSearch: readPeriod }),
  createRoute({ getParentRoute, path: '/sign-in', component: () => <Navigate to="/" replace /> }),
  createRoute({ getParentRoute, path: '/events', component: EventsPage, validateSearch: readEventSearch }),
  createRoute({ getParentRoute, path: '/events/$id', component: EventPage }),
  createRoute({ getParentRoute, path: '/replays', component: ReplaysPage }),
  createRoute({ getParentRoute, path: '/replays/$id', component: ReplayPage }),
  createRoute({ getParentRoute, path: '/refused', component: RefusedPage, validateSearch: readRefusedSearch }),
  createRoute({ getParentRoute, path: '/receipts', component: ReceiptsPage, validateSearch: readReceiptSearch }),
  createRoute({ getParentRoute, path: '/providers', component: ProvidersPage }),
  createRoute({ getParentRoute, path: '/handlers', component: HandlersPage }),
  createRoute({ getParentRoute, path: '/audit', component: AuditPage }),
  createRoute({ getParentRoute, path: '/sessions', component: SessionsPage }),
])

/** The addresses of the page. The parameters after the `?` are plain text. */
export const pageRouter = createRouter({
  routeTree,
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: (search) => {
    const set = Object.entries(search).filter(([, value]) => value !== undefined)
    const text = new URLSearchParams(set.map(([name, value]) => [name, String(value)])).toString()
    return text === '' ? '' : `?${text}`
  },
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof pageRouter
  }
}
