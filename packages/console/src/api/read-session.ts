import { membersOf } from './members-of.ts'
import type { Role } from './role.ts'
import type { Session } from './session.ts'

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
