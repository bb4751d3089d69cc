import { ProblemAnswer } from '../api/problem-answer.ts'
import type { Role } from '../api/role.ts'
import type { Session } from '../api/session.ts'

let code: string | null = null

/** Removes the code from the address, so that it is in no history and on no shared screen. Call it before the page is shown. */
export function takeSignInCode(): void {
  if (location.pathname !== '/sign-in') return
  code = location.hash.slice(1) || null
  history.replaceState(null, '', '/events')
}

/** Whether there is an unused code. */
export function hasSignInCode(): boolean {
  return code !== null
}

/**
 * Exchanges the code for a session. A code works once, so this works once.
 * @throws ProblemAnswer
 */
export async function exchangeSignInCode(): Promise<Session> {
  const body = JSON.stringify({ code })
  code = null
  const headers = { 'Content-Type': 'application/json' }
  const response = await fetch('/sign-in', { method: 'POST', headers, body })
  if (!response.ok) throw await ProblemAnswer.of(response)
  return toSession(await response.json())
}

const ROLES: readonly Role[] = ['read', 'operate', 'bodies']

function toSession(answer: unknown): Session {
  const members = new Map(typeof answer === 'object' && answer !== null ? Object.entries(answer) : [])
  const roles: unknown = members.get('roles')
  return {
    token: String(members.get('token')),
    operator: String(members.get('operator')),
    roles: ROLES.filter((role) => Array.isArray(roles) && roles.includes(role)),
  }
}
