import { postJson } from '../api/post-json.ts'
import { readSession } from '../api/read-session.ts'
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
  const body = { code }
  code = null
  return readSession(await postJson('/sign-in', body))
}
