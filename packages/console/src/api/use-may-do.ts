import type { Role } from './role.ts'
import { useSession } from './session.ts'

/** Whether the token of the session has a role. */
export function useMayDo(role: Role): boolean {
  return useSession()?.roles.includes(role) ?? false
}
