import { randomUUID } from 'node:crypto'
import { fulfilmentRouter } from '@oncehook/fulfilment/router'
import { startFulfilment } from '@oncehook/fulfilment/testing/start-fulfilment'
import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { demandToken, digestOf, makeToken, promisedParts, type TokenParts, tokenFiles } from './hand-made-token.ts'

const KEYS = newServiceKeyPair()
const NOW = Date.parse('2026-11-21T08:00:00.000Z')
const IAT = NOW / 1_000
const INPUT = JSON.stringify({ orderIds: ['ord_1'] })
const CALL = { procedure: 'erasures.find', input: INPUT }
const PROMISED = promisedParts(CALL, IAT)
const SOUND = changed({})
const WHO = 'Fulfilment breaks what it owes to the consumer gateway (contracts/service-tokens.json): its token'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const clock = { now: () => NOW }
const place = { uri: database.uri, database: database.name, clock }
const fulfilment = stack.use(await startFulfilment({ ...place, keys: KEYS }))

interface Asked {
  readonly procedure: string
  readonly method?: 'GET' | 'POST'
  readonly input?: string
  readonly token?: string
}

async function ask({ method = 'GET', procedure, input, token }: Asked): Promise<Response> {
  const query = method === 'GET' && input !== undefined ? `?input=${encodeURIComponent(input)}` : ''
  const authorization: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return await fetch(`${fulfilment.url}/trpc/${procedure}${query}`, {
    method,
    headers: { 'content-type': 'application/json', ...authorization },
    ...(method === 'POST' && input !== undefined ? { body: input } : {}),
  })
}

/** The token of another call each time, with other claims, or with another header. */
function changed(claims: object, header: object = {}): TokenParts {
  const { header: usual, claims: promised } = PROMISED
  return { header: { ...usual, ...header }, claims: { ...promised, jti: randomUUID(), ...claims } }
}

async function statusFor(parts: TokenParts, key = KEYS.privateKey): Promise<number> {
  return (await ask({ ...CALL, token: makeToken(parts, key) })).status
}

/** What the tests of the gateway demand of each call that it sends. */
function demandSent(
  parts: TokenParts,
  key = KEYS.privateKey,
  named: { subject?: string; audience?: string } = {},
): void {
  const sent = { ...CALL, authorization: `Bearer ${makeToken(parts, key)}` }
  demandToken('The gateway', sent, { publicKey: KEYS.publicKey, ...named })
}

describe('fulfilment takes a token', () => {
  it.each<{ whose: string; parts: TokenParts }>([
    ...tokenFiles().map((file) => {
      const { header, claims } = promisedParts(CALL, IAT, file)
      return { whose: `says what was agreed in ${file}`, parts: { header, claims: { ...claims, jti: randomUUID() } } }
    }),
    { whose: 'has a claim that is new', parts: changed({ new: 'claim' }) },
    { whose: 'names a principal of 300 characters', parts: changed({ sub: 'ß'.repeat(300) }) },
    { whose: 'names several audiences', parts: changed({ aud: ['somebody', 'fulfilment'] }) },
    { whose: 'was issued by a clock that is 29 s ahead', parts: changed({ iat: IAT + 29, exp: IAT + 89 }) },
    { whose: 'ended 29 s ago', parts: changed({ iat: IAT - 89, exp: IAT - 29 }) },
  ])('that $whose', async ({ whose, parts }) => {
    expect(await statusFor(parts), `${WHO} ${whose}`).toBe(200)
  })
})

describe('a gateway sends a token', () => {
  const SOLD = changed({ sub: 'shop' })
  it("in nobody's name, or in that of a principal, for its call and audience, with claims that are new", () => {
    for (const parts of [SOUND, changed({ new: 'claim' }), changed({ iat: IAT - 89, exp: IAT - 29 })]) demandSent(parts)
    demandSent(SOLD, KEYS.privateKey, { subject: 'shop' })
    demandSent(changed({ aud: 'search' }), KEYS.privateKey, { audience: 'search' })
  })

  it.each<{ whose: string; parts: TokenParts; subject?: string; audience?: string; says: string }>([
    { whose: 'names somebody', parts: SOLD, says: 'names a principal: shop' },
    { whose: 'names nobody', parts: SOUND, subject: 'shop', says: "sub: 'shop'" },
    { whose: 'names somebody else', parts: SOLD, subject: 'seller', says: "sub: 'seller'" },
    { whose: 'is for fulfilment', parts: SOUND, audience: 'search', says: "aud: 'search'" },
    { whose: 'counts milliseconds', parts: changed({ iat: NOW, exp: NOW + 60 }), says: 'is not in seconds' },
  ])('and none that $whose', ({ parts, says, whose: _, ...named }) => {
    expect(() => demandSent(parts, KEYS.privateKey, named)).toThrow(says)
  })
})

describe('fulfilment refuses a token', () => {
  it.each<{ whose: string; parts: TokenParts; key?: string }>([
    { whose: 'is for another service', parts: changed({ aud: 'somebody' }) },
    { whose: 'is for nobody in particular', parts: changed({ aud: undefined }) },
    { whose: 'is of another issuer', parts: changed({ iss: 'somebody' }) },
    { whose: 'is of no issuer', parts: changed({ iss: undefined }) },
    { whose: 'is valid for more than a minute', parts: changed({ exp: IAT + 61 }) },
    { whose: 'never ends', parts: changed({ exp: undefined }) },
    { whose: 'was issued at no time', parts: changed({ iat: undefined }) },
    { whose: 'ended 31 s ago', parts: changed({ iat: IAT - 91, exp: IAT - 31 }) },
    { whose: 'will be issued in 31 s', parts: changed({ iat: IAT + 31, exp: IAT + 91 }) },
    { whose: 'is signed with another key', parts: SOUND, key: newServiceKeyPair().privateKey },
    { whose: 'is signed by HMAC with the public key', parts: changed({}, { alg: 'HS256' }), key: KEYS.publicKey },
    { whose: 'has another algorithm', parts: changed({}, { alg: 'HS512' }) },
    { whose: 'has no signature', parts: changed({}, { alg: 'none' }) },
    { whose: 'is of another type', parts: changed({}, { typ: 'JWT' }) },
    { whose: 'has no id', parts: changed({ jti: undefined }) },
    { whose: 'is for another procedure', parts: changed({ proc: 'payments.applyEvents' }) },
    { whose: 'is for another input', parts: changed({ bsh: digestOf('another') }) },
    { whose: 'is for another precondition', parts: changed({ imh: digestOf('"1"') }) },
    {
      whose: 'is for any call',
      parts: changed({ proc: undefined, bsh: undefined, jti: undefined }, { typ: undefined }),
    },
  ])('that $whose', async ({ whose, parts, key }) => {
    expect(await statusFor(parts, key), `${WHO} ${whose}`).toBe(401)
    // At what time it was sent is nothing that can be demanded of a recorded call.
    if (!/31 s/.test(whose)) expect(() => demandSent(parts, key)).toThrow(/^The gateway: the token of erasures.find/)
  })

  it.each(Object.keys(fulfilmentRouter._def.procedures))('that is missing: %s', async (procedure) => {
    for (const method of ['GET', 'POST'] as const) {
      const answer = await ask({ procedure, method, ...(method === 'POST' ? { input: '{}' } : {}) })
      expect([answer.status, answer.headers.get('www-authenticate')], `${WHO} is missing`).toEqual([401, 'Bearer'])
      expect(await answer.json()).toMatchObject({
        error: { data: { httpStatus: 401, reason: 'unauthenticated', retry: 'never' } },
      })
    }
  })
})
