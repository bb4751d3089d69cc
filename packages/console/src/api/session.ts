// Who uses the page: the token of a sign-in with its roles. It is in memory only, so a reload ends it.

import { useSyncExternalStore } from 'react'
import { membersOf } from './post-json.ts'

/** A right of an operator's token: to read, to change something, to see bodies. */
type Role = 'read' | 'operate' | 'bodies'

/** The operator who uses the page, and their roles. It is not stored: a reload ends the session. */
export interface Session {
  readonly token: string
  readonly operator: string
  readonly roles: readonly Role[]
}

let session: Session | null = null
let isEndUnconfirmed = false
const listeners = new Set<() => void>()

/** The session; null before a sign-in and after a sign-out. */
export function currentSession(): Session | null {
  return session
}

/** Begins a session, or ends it with null. `unconfirmed`: it may not have ended at the gateway. */
export function setSession(next: Session | null, end: 'confirmed' | 'unconfirmed' = 'confirmed'): void {
  session = next
  isEndUnconfirmed = end === 'unconfirmed'
  for (const notify of listeners) notify()
}

function listen(tell: () => void): () => void {
  listeners.add(tell)
  return () => listeners.delete(tell)
}

/** Whether the last session of this page may not have ended at the gateway. */
export function useUnconfirmedEnd(): boolean {
  return useSyncExternalStore(listen, () => isEndUnconfirmed)
}

/** The session, for components. */
export function useSession(): Session | null {
  return useSyncExternalStore(listen, currentSession)
}

/** Whether the token of the session has a role. */
export function useMayDo(role: Role): boolean {
  return useSession()?.roles.includes(role) ?? false
}

const ROLES: readonly Role[] = ['read', 'operate', 'bodies']

/** The session in the answer to a sign-in. */
export function readSession(answer: unknown): Session {
  const members = membersOf(answer)
  const roles = members.get('roles')
  return {
    token: String(members.get('token')),
    operator: String(members.get('operator')),
    roles: ROLES.filter((role) => Array.isArray(roles) && roles.includes(role)),
  }
}
