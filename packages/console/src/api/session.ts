// Who uses the page. The session is in a cookie that no script can read. The page knows its id, and names it in each call, so
// that this window never acts for somebody who has signed in in another one.

import { useSyncExternalStore } from 'react'

/** A right of an operator: to read, to change something, to see bodies, to change what orders cost. */
type Role = 'read' | 'operate' | 'bodies' | 'orders'

export interface Session {
  readonly id: string
  readonly operator: string
  readonly roles: readonly Role[]
}

// Undefined: the page has not asked the gateway yet, or has to ask again.
let session: Session | null | undefined
let isEndUnconfirmed = false
let refusedId: string | null = null
const listeners = new Set<() => void>()

/** The session; null without one, or as long as it is not known. */
export const currentSession = (): Session | null => session ?? null

/**
 * Begins a session, or ends it: with null if nobody is signed in, with undefined if the gateway must be asked.
 * `unconfirmed`: it may not have ended at the gateway.
 */
export function setSession(next: Session | null | undefined, end: 'confirmed' | 'unconfirmed' = 'confirmed'): void {
  session = next
  isEndUnconfirmed = end === 'unconfirmed'
  for (const notify of listeners) notify()
}

/** The gateway has refused a call in a session. If it is still that of the page, the gateway must be asked who uses the page. */
export function refuseSession(refused: Session): void {
  if (session !== refused) return
  refusedId = refused.id
  setSession(undefined)
}

/** Whether the gateway has refused a call in this session, which was the last one. */
export const isRefused = (id: string): boolean => id === refusedId

function listen(tell: () => void): () => void {
  listeners.add(tell)
  return () => listeners.delete(tell)
}

// The same without a browser, where tests draw the page.
const useStored = <Value>(read: () => Value): Value => useSyncExternalStore(listen, read, read)

/** Whether the gateway must be asked who uses the page. */
export const useIsUnknown = (): boolean => useStored(() => session === undefined)

/** Whether the last session of this page may not have ended at the gateway. */
export const useUnconfirmedEnd = (): boolean => useStored(() => isEndUnconfirmed)

export const useSession = (): Session | null => useStored(currentSession)

export const useMayDo = (role: Role): boolean => useSession()?.roles.includes(role) ?? false
