import { MatchersV3 } from '@pact-foundation/pact'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { postJson } from '../../packages/console/src/api/post-json.ts'
import { compareAtTheEnd, type Exchange, openConsumerContract } from './consumer-contract.ts'
import { OPERATOR_TOKEN, type OperatorCall, REQUEST_ID, SIGN_IN } from './operator-exchanges.ts'

const { like, regex, string } = MatchersV3

type Act = () => Promise<unknown>

/** What the page does at a sign-in. */
interface Page {
  readonly takeSignInCode: () => void
  readonly takeIssuerAnswer: () => void
  readonly exchangeSignInCode: Act
  readonly readSignInCode: Act
  readonly exchangeIssuerAnswer: Act
  readonly readIssuer: Act
  readonly goToIssuer: Act
}

// By a text: these tests have no types of a browser.
const SOURCE: string = '../../packages/console/src/sign-in/sign-in-from-address.ts'
const page = (await import(SOURCE)) as Page
const { takeSignInCode, takeIssuerAnswer, readSignInCode, exchangeSignInCode } = page
const { exchangeIssuerAnswer, readIssuer, goToIssuer } = page

const contract = openConsumerContract('console', 'operator-api', (path) => path.startsWith(SIGN_IN))
compareAtTheEnd(contract)
afterEach(() => void vi.unstubAllGlobals())

const CODE = 'c'.repeat(43)
const random = () => regex(/^[\w.~-]{43,128}$/, 'r'.repeat(43))
const KEPT = { state: 'r'.repeat(43), nonce: 'r'.repeat(43), verifier: 'r'.repeat(43) }
const NOTHING = { description: 'nothing in particular' }
const AT_ISSUER = { description: 'operators sign in at an issuer' }
const TYPE = { 'Content-Type': 'application/json' }

const OWN_COOKIE = `=ohs_[\\w-]{43}(?:; (?:Path=/operator/|HttpOnly|SameSite=Strict)){3}`
const REMOVED_COOKIES = '=(?:; (?:Path=/[\\w/]*|Domain=[\\w.-]+|Max-Age=0)){2,3}'

/** The session is in a cookie for the operator API, and others are removed. The page reads nothing of the answer. */
const OPENED = answered(200, like({}), {
  'Set-Cookie': regex(
    `^oncehook-session-\\d+(?:${OWN_COOKIE}|${REMOVED_COOKIES})$`,
    `oncehook-session-8081=ohs_${'s'.repeat(43)}; Path=/operator/; HttpOnly; SameSite=Strict`,
  ),
})

/** Over TLS, the prefix of the name keeps others from setting it (RFC 6265bis, section 4.1.3.2). */
const OPENED_OVER_TLS = answered(200, like({}), {
  'Set-Cookie': regex(
    /^__Host-oncehook-session-\d+=ohs_[\w-]{43}(?:; (?:Path=\/|Secure|HttpOnly|SameSite=Strict)){4}$/,
    `__Host-oncehook-session-8081=ohs_${'s'.repeat(43)}; Path=/; Secure; HttpOnly; SameSite=Strict`,
  ),
})

const refusedSignIn = (code: string) =>
  answered(401, { error: string('A sentence'), code }, { 'X-Request-Id': REQUEST_ID })

function answered(status: number, body: object, more: object = {}): Exchange['answer'] {
  const headers = { 'Content-Type': like('application/json; charset=utf-8'), ...more }
  return { status, headers, body: body as never }
}

interface SignInCall extends Omit<OperatorCall, 'procedure' | 'kind'> {
  readonly path: string
  /** What the address of the window has. Default: nothing. */
  readonly address?: object
  readonly act: Act
  /** The code of the refusal that the page gets. Absent: it gets an answer. */
  readonly refused?: string
}

const CALLS: readonly SignInCall[] = [
  {
    ...{ does: 'asks who the code of a link is for', states: [{ description: 'a link was made that can be checked' }] },
    ...{ path: SIGN_IN, input: { code: CODE, check: true }, address: { hash: `#${CODE}` }, act: readSignInCode },
    answer: answered(200, { operator: string('alice') }),
  },
  {
    ...{ does: 'signs in with the code of a link', states: [{ description: 'a link was made that signs in' }] },
    ...{ path: SIGN_IN, input: { code: CODE }, answer: OPENED, address: { hash: `#${CODE}` } },
    act: exchangeSignInCode,
  },
  {
    ...{ does: 'signs in with a code that is unknown', path: SIGN_IN, input: { code: CODE } },
    answer: refusedSignIn('sign_in_code_invalid'),
    ...{ address: { hash: `#${CODE}` }, act: exchangeSignInCode, refused: 'sign_in_code_invalid' },
  },
  {
    ...{ does: 'signs in with a token', states: [{ description: 'the operator has a token' }], path: SIGN_IN },
    ...{ input: { token: OPERATOR_TOKEN }, answer: OPENED },
    act: () => postJson(SIGN_IN, { token: OPERATOR_TOKEN }),
  },
  {
    ...{ does: 'signs in with a token that is unknown', path: SIGN_IN, input: { token: OPERATOR_TOKEN } },
    answer: refusedSignIn('unauthenticated'),
    ...{ act: () => postJson(SIGN_IN, { token: OPERATOR_TOKEN }), refused: 'unauthenticated' },
  },
  {
    ...{ does: 'signs in over TLS', states: [{ description: 'the page is reached over TLS' }], path: SIGN_IN },
    ...{ input: { token: OPERATOR_TOKEN }, answer: OPENED_OVER_TLS },
    act: () => postJson(SIGN_IN, { token: OPERATOR_TOKEN }),
  },
  {
    ...{ does: 'asks for the issuer when there is none', path: `${SIGN_IN}/issuer`, act: readIssuer },
    answer: answered(200, { issuer: null }),
  },
  {
    ...{ does: 'asks for the issuer', states: [AT_ISSUER], path: `${SIGN_IN}/issuer`, act: readIssuer },
    answer: answered(200, { issuer: regex(/^https?:\/\/.+$/, 'https://issuer.example.com') }),
  },
  {
    ...{ does: 'goes to the issuer', states: [AT_ISSUER], path: `${SIGN_IN}/issuer/begin`, input: {} },
    answer: answered(200, {
      url: regex(/^https?:\/\/.+$/, 'https://issuer.example.com/auth'),
      kept: { state: random(), nonce: random(), verifier: random() },
    }),
    act: goToIssuer,
  },
  {
    ...{ does: 'comes back from the issuer', path: `${SIGN_IN}/issuer/finish`, answer: OPENED },
    states: [{ description: 'an operator comes back from the issuer' }],
    ...{ input: { answer: 'code=c', kept: KEPT }, address: { search: '?code=c' }, act: exchangeIssuerAnswer },
  },
  {
    ...{ does: 'comes back from the issuer with an answer for another window', states: [AT_ISSUER] },
    ...{ path: `${SIGN_IN}/issuer/finish`, input: { answer: 'code=c', kept: KEPT } },
    ...{ answer: refusedSignIn('sign_in_answer_invalid'), address: { search: '?code=c' } },
    ...{ act: exchangeIssuerAnswer, refused: 'sign_in_answer_invalid' },
  },
]

describe("the operator's page", () => {
  it.each(CALLS)('$does', async ({ act, refused, address, input, path, answer, ...call }) => {
    const real = globalThis.fetch
    const asked =
      input === undefined ? { method: 'GET', headers: {} } : { method: 'POST', headers: TYPE, body: input as never }
    const exchange = { states: [NOTHING], ...call, answer, request: { path, ...asked } }
    await (await contract).expectExchange(exchange, async (url) => {
      const there: typeof fetch = (input, init) => real(new URL(String(input), url), init)
      const stored = JSON.stringify({ kept: KEPT, path: '/events' })
      vi.stubGlobal('fetch', there)
      vi.stubGlobal('location', { pathname: SIGN_IN, hash: '', search: '', assign: () => undefined, ...address })
      vi.stubGlobal('history', { replaceState: () => undefined })
      const store = { getItem: () => stored, setItem: () => undefined, removeItem: () => undefined }
      vi.stubGlobal('window', { sessionStorage: store })
      vi.stubGlobal('sessionStorage', store)
      takeSignInCode()
      takeIssuerAnswer()
      if (refused === undefined) await act()
      else await expect(act()).rejects.toMatchObject({ code: refused })
    })
  })
})
