import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { request } from 'undici'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { startSignInIssuer } from '../../testing/issuer/sign-in-issuer.ts'
import { startOperatedSystem } from '../../testing/start-operated-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const issuer = stack.use(await startSignInIssuer({ people: { alice: ['hook-readers'] } }))
let now = Date.now()
const settings = { ...issuer.settings, PRIVATE_NAMES: 'hooks.example' }
const system = stack.use(await startOperatedSystem(database, { clock: { now: () => now }, settings }))
const origin = system.gateway.adminUrl
/** Each test has its own minute, so that no other test's attempts count. */
beforeEach(() => {
  now += 60_000
})

const random = 'r'.repeat(43)
const kept = { state: random, nonce: random, verifier: random }
const ANSWER = { answer: 'code=a', kept }

async function post(path: string, body: unknown, headers: Record<string, string> = { origin }) {
  const response = await fetch(`${headers.origin ?? origin}/sign-in/issuer${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: response.status, ...((await response.json()) as { code: string }) }
}

describe('the body of a request to the sign-in at the issuer', () => {
  it.each([
    ['as it should be', 401, ANSWER],
    ['with the longest answer', 401, { ...ANSWER, answer: 'a'.repeat(8_192) }],
    ['with a longer answer', 400, { ...ANSWER, answer: 'a'.repeat(8_193) }],
    ['with an unknown member', 400, { ...ANSWER, redirectUri: 'https://evil.example' }],
    ['with an unknown member of what was kept', 400, { ...ANSWER, kept: { ...kept, also: random } }],
    ['without what was kept', 400, { answer: 'code=a' }],
    ['with a short state', 400, { ...ANSWER, kept: { ...kept, state: 'r'.repeat(42) } }],
    ['with a long verifier', 400, { ...ANSWER, kept: { ...kept, verifier: 'r'.repeat(129) } }],
    ['with a nonce of other characters', 400, { ...ANSWER, kept: { ...kept, nonce: `${random} ` } }],
    ['that is a list', 400, [ANSWER]],
    ['that is too large', 413, { ...ANSWER, answer: 'a'.repeat(16_384) }],
  ])('%s gets %i', async (_, status, body) => {
    expect(await post('/finish', body)).toMatchObject({ status })
  })

  it('is an empty object at the begin', async () => {
    expect(await post('/begin', {})).toMatchObject({ status: 200 })
    for (const body of [[], { redirectUri: 'https://evil.example' }]) {
      expect(await post('/begin', body)).toMatchObject({ status: 400, code: 'invalid_request' })
    }
  })

  it('has few values, because anybody can send one', async () => {
    const body = Array(200).fill(0)
    const headers = { 'content-type': 'application/json' }
    const { body: answer } = await system.call('/sign-in', { method: 'POST', headers, body: JSON.stringify(body) })
    const codes = [
      JSON.parse(answer).code,
      ...(await Promise.all([post('/begin', body), post('/finish', body)])).map(({ code }) => code),
    ]
    expect(codes).toEqual(Array(3).fill('invalid_body'))
  })
})

describe('a request to the sign-in at the issuer', () => {
  it('counts to the address that it comes from, and not to one that it names', async () => {
    // The issuer is asked about it.
    const asked = { kept, answer: `code=a&state=${random}&iss=${encodeURIComponent(issuer.issuer)}` }
    for (let times = 0; times < 10; times += 1) {
      expect(await post('/finish', asked, { origin, 'x-forwarded-for': `198.51.100.${times}` })).toMatchObject({
        status: 401,
      })
    }
    expect(await post('/finish', asked, { origin, 'x-forwarded-for': '203.0.113.9' })).toMatchObject({ status: 429 })
  })

  it('is not refused because others typed wrong codes', async () => {
    const code = { method: 'POST', headers: { 'content-type': 'application/json' }, body: `{"code":"${random}"}` }
    for (let times = 0; times < 20; times += 1) expect((await system.call('/sign-in', code)).status).toBe(401)
    expect(await post('/begin', {})).toMatchObject({ status: 200 })
  })

  it('names the address of the page, whichever others its headers name', async () => {
    const headers = { origin, 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https', forwarded: 'host=evil' }
    const begun: unknown = await post('/begin', {}, headers)
    expect(begun).toMatchObject({
      url: expect.stringContaining(`redirect_uri=${encodeURIComponent(origin)}%2Fsign-in`),
    })
    expect(JSON.stringify(begun)).not.toContain('evil')
  })

  it('may come through a proxy that ends TLS', async () => {
    const { statusCode, body } = await request(`${origin}/sign-in/issuer/begin`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', host: 'hooks.example', origin: 'https://hooks.example' },
      body: '{}',
    })
    expect({ statusCode, url: JSON.stringify(await body.json()) }).toEqual({
      ...{ statusCode: 200, url: expect.stringContaining('redirect_uri=https%3A%2F%2Fhooks.example%2Fsign-in') },
    })
  })

  it('needs the header Origin, because it says where the issuer sends the window', async () => {
    for (const [path, body] of [['/begin', {}] as const, ['/finish', ANSWER] as const]) {
      expect(await post(path, body, {})).toMatchObject({ status: 400, code: 'invalid_request' })
    }
  })

  it('is in the log without what the client chose, and is a failed login if the answer was wrong', async () => {
    const before = system.gateway.logs.length
    await post('/finish', { ...ANSWER, answer: `error=access_denied&state=${random}&error_description=chosen` })
    await post('/finish', ANSWER)
    await post('/chosen', ANSWER)
    const lines = system.gateway.logs.slice(before)
    const refused = lines.filter(({ msg }) => msg === 'request.refused')
    expect(refused).toMatchObject([
      { route: '/sign-in/issuer/finish', code: 'sign_in_answer_invalid', problem: 'OAUTH_INVALID_RESPONSE' },
      { route: '/sign-in/issuer/finish', code: 'sign_in_answer_invalid', address: '127.0.0.1' },
      { route: '/sign-in/issuer', code: 'not_found' },
    ])
    expect(JSON.stringify(lines)).not.toContain('chosen')
    const { body } = await system.call('/metrics')
    expect(body).toMatch(/oncehook_authentication_failures_total\{[^}]*reason="answer_invalid"[^}]*\} \d/)
  })
})
