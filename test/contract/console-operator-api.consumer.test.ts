import { isDeepStrictEqual } from 'node:util'
import { MatchersV3 } from '@pact-foundation/pact'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { operator } from '../../packages/console/src/api/operator-client.ts'
import { setSession } from '../../packages/console/src/api/session.ts'
import { CALLS, SESSION } from './console-calls.ts'
import { compareAtTheEnd, openConsumerContract } from './consumer-contract.ts'
import { type OperatorCall, operatorExchange, SIGN_IN } from './operator-exchanges.ts'

const { reify } = MatchersV3

const contract = openConsumerContract('console', 'operator-api', (path) => !path.startsWith(SIGN_IN))
compareAtTheEnd(contract)
afterEach(() => void vi.unstubAllGlobals())

// By a text: these tests have no types of a browser.
const SOURCE: string = '../../packages/console/src/testing/open-address.tsx'
const { openAddress } = (await import(SOURCE)) as { readonly openAddress: (address: string) => Promise<void> }

/** The cookie of a session, which the browser adds. A provider test sets it to that of its gateway. */
const COOKIE = `oncehook-session=ohs_${'s'.repeat(43)}`

/** Answers a call that the page makes beside the one of an interaction, as the contract says. */
function answerOther(path: string, input: unknown): Response {
  if (path === `${SIGN_IN}/issuer`) return Response.json({ issuer: null })
  const known = CALLS.filter((call) => isOf(call, path, input))
  const answer = (known.find(({ refused }) => refused === undefined) ?? known[0])?.answer
  if (answer !== undefined) return Response.json(reify(answer.body as never), { status: Number(answer.status) })
  throw new Error(`The page also calls ${path} with ${JSON.stringify(input)}, of which the contract has no interaction`)
}

function isOf({ procedure, input }: OperatorCall, path: string, given: unknown): boolean {
  return path === `/operator/${procedure}` && isDeepStrictEqual(input, given)
}

/** What a button does: it hands the input to the client of the page. */
function press({ procedure, input }: OperatorCall): (client: object) => Promise<unknown> {
  return (client) => {
    const found = procedure.split('.').reduce((part, name) => Reflect.get(part, name) as object, client)
    return (found as { readonly mutate: (given: unknown) => Promise<unknown> }).mutate(input)
  }
}

describe("the operator's page", () => {
  it.each(CALLS)('$does', async ({ at, act, refused, ...call }) => {
    const real = globalThis.fetch
    // The page asks who it is before it knows its session.
    const isKnown = call.procedure !== 'me'
    const headers = { cookie: COOKIE, 'oncehook-session': isKnown ? SESSION : '*' }
    setSession(isKnown ? { id: SESSION, operator: 'alice', roles: ['bodies'] } : undefined)
    await (await contract).expectExchange(operatorExchange(call, headers), async (url) => {
      // In a browser, the page and the operator API have one address, and the browser adds the cookie.
      const there = async (path: string, init: RequestInit = {}): Promise<Response> => {
        const input = init.body === undefined ? undefined : JSON.parse(String(init.body))
        if (at !== undefined && !isOf(call, path, input)) return answerOther(path, input)
        return await real(new URL(path, url), { ...init, headers: { ...init.headers, cookie: COOKIE } })
      }
      vi.stubGlobal('fetch', there)
      const acted = at === undefined ? (act ?? press(call))(operator) : openAddress(at)
      if (refused === undefined) await acted
      else await expect(acted).rejects.toMatchObject({ data: { reason: refused } })
    })
  })
})
