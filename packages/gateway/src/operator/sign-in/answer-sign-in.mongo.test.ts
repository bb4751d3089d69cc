import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { request } from 'undici'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { AUDIENCE } from '../../testing/issuer/issuer-server.ts'
import { startSignInIssuer } from '../../testing/issuer/sign-in-issuer.ts'
import { startGateway } from '../../testing/start-gateway.ts'
import { cookieOf, createPageClient, startOperatedSystem } from '../../testing/start-operated-system.ts'

const PEOPLE = { alice: ['hook-operators'], bob: ['hook-readers'], carol: ['payroll'] }
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const issuer = stack.use(await startSignInIssuer({ people: PEOPLE }))
let now = Date.now()
/** What happens instead of a request to the issuer's token endpoint. */
let tokenEndpoint: ((input: string, init: RequestInit) => Promise<Response>) | null = null
const fetchOfGateway: typeof fetch = async (input, init = {}) => {
  const url = String(input)
  return url === `${issuer.issuer}/token` && tokenEndpoint !== null ? tokenEndpoint(url, init) : fetch(input, init)
}
const system = stack.use(
  await startOperatedSystem(database, {
    ...{ clock: { now: () => now }, fetch: fetchOfGateway },
    settings: issuer.settings,
  }),
)
const origin = system.gateway.adminUrl
issuer.register(origin)
const audit = database.db.collection('audit')
/** Each test has another minute than the one before, so that its attempts do not count. Tokens last for 10 minutes. */
let turn = 0
beforeEach(() => {
  turn = (turn + 1) % 3
  now = Date.now() + turn * 120_000
  tokenEndpoint = null
})

interface Kept {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}
interface Begun {
  readonly url: string
  readonly kept: Kept
}
interface Session {
  readonly operator: string
  readonly roles: readonly string[]
  readonly expiresAt: string
  readonly code: string
}

async function post(path: string, body: unknown, { headers = {}, at = origin } = {}) {
  const response = await fetch(`${at}/sign-in/issuer${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: at, ...headers },
    body: JSON.stringify(body),
  })
  const answer = (await response.json()) as Session & Begun
  return { status: response.status, headers: response.headers, answer, cookie: cookieOf(response) }
}
const begin = async (at = origin): Promise<Begun> => (await post('/begin', {}, { at })).answer
const finish = (body: object, at = origin) => post('/finish', body, { at })
async function signIn(person: string | null, at = origin) {
  const { url, kept } = await begin(at)
  return await finish({ answer: await issuer.answerOf(url, person), kept }, at)
}
const INVALID = { status: 401, answer: { code: 'sign_in_answer_invalid' } }

describe('a sign-in at the issuer', () => {
  it('is offered by the name of the issuer, and only if the gateway is its client', async () => {
    const { status, body, headers } = await system.call('/sign-in/issuer')
    expect({ status, body: JSON.parse(body) }).toEqual({ status: 200, body: { issuer: issuer.issuer } })
    expect(headers.get('cache-control')).toBe('no-store')
    const { OPERATOR_CLIENT_ID: _, OPERATOR_AUDIENCE_PARAMETER: __, ...tokensOnly } = issuer.settings
    await using other = await startGateway({ database, settings: tokensOnly })
    expect(await (await fetch(`${other.adminUrl}/sign-in/issuer`)).json()).toEqual({ issuer: null })
    for (const path of ['/begin', '/finish']) {
      expect(await post(path, {}, { at: other.adminUrl })).toMatchObject({ status: 404 })
    }
  })

  it('begins with an address of the issuer, which has no secret of the window', async () => {
    const { url, kept } = await begin()
    const { origin: at, searchParams } = new URL(url)
    expect(at).toBe(issuer.issuer)
    expect(Object.fromEntries(searchParams)).toEqual({
      ...{ response_type: 'code', client_id: 'oncehook', scope: 'openid', resource: AUDIENCE },
      ...{ redirect_uri: `${origin}/sign-in`, state: kept.state, nonce: kept.nonce },
      ...{ code_challenge_method: 'S256', code_challenge: expect.stringMatching(/^[\w-]{43}$/) },
    })
    expect(url).not.toContain(kept.verifier)
    const { kept: other } = await begin()
    for (const name of ['state', 'nonce', 'verifier'] as const) expect(other[name]).not.toBe(kept[name])
  })

  it('opens a session with the roles of the groups, which ends with the token, and adds an entry', async () => {
    now = Date.now()
    const { status, headers, answer, cookie } = await signIn('bob')
    expect({ status, answer }).toEqual({
      status: 200,
      answer: { operator: 'oidc:bob', roles: ['read'], expiresAt: expect.any(String) },
    })
    expect(headers.get('cache-control')).toBe('no-store')
    const endsAt = Date.parse(answer.expiresAt)
    expect([endsAt > now, endsAt <= Date.now() + 600_000]).toEqual([true, true])
    const client = createPageClient(origin, cookie)
    expect(await client.me.query()).toMatchObject({ operator: 'oidc:bob', roles: ['read'] })
    const [entry] = await audit.find().sort({ seq: -1 }).limit(1).toArray()
    expect(entry).toMatchObject({
      ...{ by: 'oidc:bob', action: 'sign_in.opened' },
      details: { operator: { issuer: issuer.issuer, name: null } },
    })
    await client.signIn.end.mutate({})
    expect(await client.me.query().catch(() => 'refused')).toBe('refused')
  })

  it('may begin at one gateway and finish at another that has the same address', async () => {
    await using other = await startGateway({ database, settings: issuer.settings })
    const { url, kept } = await begin()
    const answer = await issuer.answerOf(url, 'alice')
    // Not by fetch, which sends the host that it connects to.
    const { statusCode, body } = await request(`${other.adminUrl}/sign-in/issuer/finish`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin, host: new URL(origin).host },
      body: JSON.stringify({ answer, kept }),
    })
    expect({ statusCode, answer: await body.json() }).toMatchObject({
      ...{ statusCode: 200, answer: { operator: 'oidc:alice' } },
    })
  })
})

describe('an answer of the issuer', () => {
  it('opens no session if its state or nonce is that of another window, or the verifier is', async () => {
    const other = await begin()
    for (const name of ['state', 'nonce', 'verifier'] as const) {
      const { url, kept } = await begin()
      const answer = await issuer.answerOf(url, 'alice')
      expect(await finish({ answer, kept: { ...kept, [name]: other.kept[name] } })).toMatchObject(INVALID)
    }
  })

  it('works once, and not after its code has ended', async () => {
    const { url, kept } = await begin()
    const answer = await issuer.answerOf(url, 'alice')
    expect((await finish({ answer, kept })).status).toBe(200)
    expect(await finish({ answer, kept })).toMatchObject(INVALID)
    const late = await begin()
    const lateAnswer = await issuer.answerOf(late.url, 'alice')
    await issuer.expireCode(new URLSearchParams(lateAnswer).get('code') ?? '')
    expect(await finish({ answer: lateAnswer, kept: late.kept })).toMatchObject(INVALID)
  })

  it('says that the person refused', async () => {
    const { status, answer } = await signIn(null)
    expect({ status, answer }).toMatchObject({ status: 401, answer: { code: 'sign_in_denied' } })
    const { kept } = await begin()
    const forged = `error=access_denied&state=${kept.nonce}&iss=${encodeURIComponent(issuer.issuer)}`
    expect(await finish({ answer: forged, kept })).toMatchObject(INVALID)
  })

  it('is taken from the page only', async () => {
    const foreign = [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]
    for (const path of ['/begin', '/finish']) {
      for (const headers of foreign) {
        expect(await post(path, {}, { headers })).toMatchObject({ status: 403, answer: { code: 'cross_site' } })
      }
    }
    const { status, headers } = await system.call('/sign-in/issuer', { method: 'DELETE' })
    expect([status, headers.get('allow')]).toEqual([405, 'GET'])
    expect((await system.call('/sign-in/issuer/other')).status).toBe(404)
  })

  it('is refused after ten that the issuer has refused, until the next minute', async () => {
    const { url, kept } = await begin()
    const answer = await issuer.answerOf(url, 'alice')
    const wrong = new URLSearchParams(answer)
    wrong.set('code', 'made-up')
    for (let tries = 0; tries < 10; tries += 1)
      expect(await finish({ answer: String(wrong), kept })).toMatchObject(INVALID)
    expect(await finish({ answer, kept })).toMatchObject({ status: 429, answer: { code: 'rate_limited' } })
    expect((await post('/begin', {})).status).toBe(429)
    now += 60_000
    expect((await finish({ answer, kept })).status).toBe(200)
  })

  it('counts for nothing if the issuer was not asked about it, so no stranger uses up the attempts of others', async () => {
    let asked = 0
    tokenEndpoint = (input, init) => {
      asked += 1
      return fetch(input, init)
    }
    const { url, kept } = await begin()
    const answer = await issuer.answerOf(url, 'alice')
    for (const wrong of ['code=a', 'code=a&state=b', `error=access_denied&${answer}`]) {
      for (let tries = 0; tries < 10; tries += 1) expect((await finish({ answer: wrong, kept })).status).toBe(401)
    }
    expect(asked).toBe(0)
    expect((await finish({ answer, kept })).status).toBe(200)
    expect(asked).toBe(1)
  })
})

describe('an issuer', () => {
  it('that gives a token for somebody else than the gateway is a mistake of the settings', async () => {
    const { OPERATOR_AUDIENCE_PARAMETER: _, ...none } = issuer.settings
    await using other = await startGateway({ database, settings: none })
    issuer.register(origin, other.adminUrl)
    const { status, answer } = await signIn('alice', other.adminUrl)
    expect({ status, answer }).toMatchObject({ status: 502, answer: { code: 'sign_in_misconfigured' } })
    expect(JSON.stringify(answer)).toContain('does not accept its access token')
  })

  it('that fails gets 503, and no session is opened', async () => {
    tokenEndpoint = async () => new Response('{}', { status: 500 })
    expect(await signIn('alice')).toMatchObject({ status: 503, answer: { code: 'sign_in_unavailable' } })
  })

  it('is asked with an end, and sends nobody elsewhere', async () => {
    const seen: RequestInit[] = []
    tokenEndpoint = async (_, init) => {
      seen.push(init)
      return new Response(null, { status: 307, headers: { location: 'http://127.0.0.1:1/' } })
    }
    expect(await signIn('alice')).toMatchObject({ status: 503, answer: { code: 'sign_in_unavailable' } })
    expect(seen).toMatchObject([{ redirect: 'manual', signal: expect.any(AbortSignal) }])
  })
})

it('no token of the issuer, no code and no verifier is in the log or in the database', async () => {
  const { url, kept } = await begin()
  const answer = await issuer.answerOf(url, 'alice')
  let issued = ''
  tokenEndpoint = async (input, init) => {
    const response = await fetch(input, init)
    issued = await response.text()
    return new Response(issued, response)
  }
  const { cookie } = await finish({ answer, kept })
  const { access_token, id_token } = JSON.parse(issued) as Record<string, string>
  // As the database has it: in JSON, binary values are in Base64.
  const documents = await Promise.all(
    (await database.db.collections()).map(async (one) =>
      (await one.find({}, { raw: true }).toArray()).map(String).join(),
    ),
  )
  const told = JSON.stringify(system.gateway.logs) + documents.join()
  for (const shown of ['sign_in.opened', 'sealed']) expect(told).toContain(shown)
  const code = new URLSearchParams(answer).get('code')
  for (const secret of [access_token, id_token, code, kept.verifier, kept.state, cookie.split('=')[1]]) {
    expect(String(secret).length).toBeGreaterThan(20)
    expect(told).not.toContain(secret)
  }
})
