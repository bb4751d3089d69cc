// Sign-ins that come with the address of the page: the code of a link, which `oncehook sign-in` prints, and the answer of the
// issuer. Both work once, and leave the address before the page is shown. What fails here throws a ProblemAnswer.

import { membersOf, ProblemAnswer, postJson, readJson } from '../api/post-json.ts'
import { openStore } from '../frame/browser.ts'

const FIRST_PATH = '/'

/** What came with the address and has not been used. */
export const asked: {
  /** The code of a link. */
  code: string | null
  /** The answer of the issuer, and what this window kept for it. */
  returned: { readonly answer: string; readonly kept: unknown } | null
} = { code: null, returned: null }

/** Removes the code from the address, so that it is in no history and on no shared screen. Call it before the page is shown. */
export function takeSignInCode(): void {
  if (location.pathname !== '/sign-in') return
  asked.code = location.hash.slice(1) || null
  history.replaceState(null, '', FIRST_PATH)
}

/** The name of the operator whom the code signs in. It can be used afterwards. */
export async function readSignInCode(): Promise<string> {
  const { code } = asked
  return String(membersOf(await postJson('/sign-in', { code, check: true })).get('operator'))
}

/** Exchanges the code for a session. A code works once, so this works once. */
export async function exchangeSignInCode(): Promise<void> {
  const { code } = asked
  asked.code = null
  await postJson('/sign-in', { code })
}

/**
 * What this window keeps while it is at the issuer: random texts of the gateway, and the address to return to. Neither is
 * of use without the other half, which the issuer sends back in the address. The storage of the window and not a cookie,
 * which all windows would share.
 */
const KEY = 'oncehook-sign-in'

/**
 * Takes the answer of the issuer out of the address, which becomes the one that the sign-in began at, and forgets what
 * was kept. Call it before the page is shown.
 */
export function takeIssuerAnswer(): void {
  const store = openStore('sessionStorage')
  const stored = store?.getItem(KEY) ?? null
  store?.removeItem(KEY)
  const parameters = new URLSearchParams(location.search)
  const isAnswer = location.pathname === '/sign-in' && (parameters.has('code') || parameters.has('error'))
  if (!isAnswer) return
  const members = membersOf(stored === null ? null : JSON.parse(stored))
  asked.returned = { answer: location.search.slice(1), kept: members.get('kept') }
  history.replaceState(null, '', String(members.get('path') ?? FIRST_PATH))
}

/**
 * Exchanges the answer of the issuer for a session. An answer works once, so this works once. An answer that this window
 * did not ask for goes nowhere.
 */
export async function exchangeIssuerAnswer(): Promise<void> {
  const { answer = '', kept } = asked.returned ?? {}
  asked.returned = null
  if (kept === undefined) {
    const message = 'This window has not asked the issuer for a sign-in, so its answer was not used.'
    throw new ProblemAnswer(message, 'sign_in_answer_invalid')
  }
  await postJson('/sign-in/issuer/finish', { answer, kept })
}

/** The issuer that operators can sign in at: its host, which they know it by. Null if there is none. */
export async function readIssuer(): Promise<string | null> {
  const issuer = membersOf(await readJson(await fetch('/sign-in/issuer'))).get('issuer')
  return typeof issuer === 'string' ? new URL(issuer).host : null
}

/** Leaves the page for the issuer. The address that is shown now is shown again after the sign-in. */
export async function goToIssuer(): Promise<void> {
  const store = openStore('sessionStorage')
  if (store === null) {
    const message = 'This browser stores nothing for this page, so it could not use the answer of the issuer.'
    throw new ProblemAnswer(message, 'storage_blocked')
  }
  const begun = membersOf(await postJson('/sign-in/issuer/begin', {}))
  const { pathname, search } = location
  store.setItem(KEY, JSON.stringify({ kept: begun.get('kept'), path: `${pathname}${search}` }))
  location.assign(String(begun.get('url')))
}
