import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { refusalOf } from '@oncehook/fulfilment/testing/fulfilment-client'
import { canaryToken } from '@oncehook/kernel/testing/canary-token'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { startGateway } from '../../testing/start-gateway.ts'
import { createOperatorClient, startOperatedSystem } from '../../testing/start-operated-system.ts'

const tokens = {
  ...{ reader: canaryToken(), nobody: canaryToken(), leaving: canaryToken(), soon: canaryToken() },
  /** It looks like that of a session. */
  odd: `ohs_${randomBytes(32).toString('base64url')}`,
}
const started = Date.now()
let now = started
const clock = { now: () => now }
const SOON_MS = 3_600_000

const settings = {
  OPERATOR_TOKENS: JSON.stringify({
    reader: { tokens: [{ value: tokens.reader }], roles: ['read'] },
    nobody: { tokens: [{ value: tokens.nobody }], roles: [] },
    leaving: tokens.leaving,
    odd: tokens.odd,
    soon: { tokens: [{ value: tokens.soon, notAfter: new Date(started + SOON_MS).toISOString() }], roles: ['operate'] },
  }),
}
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(await startOperatedSystem(database, { clock, settings }))
const url = system.gateway.adminUrl
const audit = database.db.collection('audit')
const clientOf = (token: string) => createOperatorClient(url, token)
const codeOf = async (name: keyof typeof tokens) => (await clientOf(tokens[name]).signIn.createCode.mutate({})).code
/** Each test has its own minute, so that no other test's wrong codes count. */
beforeEach(() => {
  now += 60_000
})

interface Session {
  readonly token: string
  readonly operator: string
  readonly roles: readonly string[]
  readonly expiresAt: string
}

async function exchange(body: unknown, headers: Record<string, string> = {}, at = url) {
  const response = await fetch(`${at}/sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const answer = (await response.json()) as Session & { code: string }
  return { status: response.status, headers: response.headers, answer }
}

async function signIn(name: keyof typeof tokens): Promise<Session> {
  const { status, answer } = await exchange({ code: await codeOf(name) })
  expect(status).toBe(200)
  return answer
}

const randomCode = (): string => randomBytes(32).toString('base64url')

/** Exchanges a code from another address of this machine. Resolves to the status. */
function exchangeFrom(localAddress: string, code: string): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  const options = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    localAddress,
    agent: false,
  } as const
  const sent = request(`${url}/sign-in`, options, (response) => {
    response.resume().once('end', () => resolve(response.statusCode))
  })
  sent.once('error', reject).end(JSON.stringify({ code }))
  return promise
}

/** The refusal of a call; null if it was answered. */
const refusalOrNull = (call: Promise<unknown>) =>
  call.then(
    () => null,
    () => refusalOf(call),
  )

const INVALID = { status: 401, answer: { code: 'sign_in_code_invalid' } }

describe('a sign-in code', () => {
  it('opens a session with the name and the roles of the person who requested it', async () => {
    const { headers, answer } = await exchange({ code: await codeOf('reader') })
    expect(answer).toEqual({
      ...{ token: expect.stringMatching(/^ohs_[\w-]{43}$/), operator: 'reader', roles: ['read'] },
      expiresAt: new Date(now + 43_200_000).toISOString(),
    })
    expect(headers.get('cache-control')).toBe('no-store')
    const session = clientOf(answer.token)
    expect(await session.me.query()).toEqual({ operator: 'reader', roles: ['read'], expiresAt: answer.expiresAt })
    expect(await session.events.list.query()).toMatchObject({ items: [] })
    expect(await refusalOf(session.events.close.mutate({ id: '0'.repeat(24), reason: 'none' }))).toMatchObject({
      ...{ reason: 'role_missing' },
    })
  })

  it('can be used once', async () => {
    const code = await codeOf('reader')
    expect((await exchange({ code })).status).toBe(200)
    expect(await exchange({ code })).toMatchObject(INVALID)
  })

  it('signs in only one of several concurrent requests', async () => {
    const code = await codeOf('reader')
    const answers = await Promise.all(Array.from({ length: 8 }, () => exchange({ code })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(401)])
  })

  it('can be used for 10 minutes', async () => {
    const early = await clientOf(tokens.reader).signIn.createCode.mutate({})
    expect(early.expiresAt).toBe(new Date(now + 600_000).toISOString())
    now += 599_999
    expect((await exchange({ code: early.code })).status).toBe(200)
    const late = await codeOf('reader')
    now += 600_000
    expect(await exchange({ code: late })).toMatchObject(INVALID)
  })

  it.each([
    ['another', randomCode()],
    ['none', ''],
    ['a token', tokens.reader],
    ['a long one', 'x'.repeat(256)],
  ])('is refused like any other if it is wrong: %s', async (_, code) => {
    expect(await exchange({ code })).toMatchObject(INVALID)
  })

  it.each([
    ['a query', { code: { $ne: null } }],
    ['an unknown member', { code: 'x', also: 1 }],
    ['no object', '[]'],
    ['broken JSON', '{"code":'],
  ])('is a text in an object, not %s', async (_, body) => {
    expect((await exchange(body)).status).toBe(400)
  })

  it('opens a session however many wrong ones others have sent, from whatever address', async () => {
    const code = await codeOf('reader')
    const wrong = Array.from({ length: 300 }, (_, n) => exchangeFrom(`127.0.0.${2 + (n % 30)}`, randomCode()))
    expect(new Set(await Promise.all(wrong))).toEqual(new Set([401]))
    expect(await exchangeFrom('127.0.0.2', code)).toBe(200)
    expect((await exchange({ code: await codeOf('reader') })).status).toBe(200)
  })

  it('is counted if it is wrong: an address with too many gets 429, but still signs in with a correct one', async () => {
    await using own = await testDatabase(process.env)
    await using strict = await startOperatedSystem(own, { clock, settings: { ...settings, RATE_LIMIT_FAILED: '5' } })
    const at = strict.gateway.adminUrl
    const { code } = await createOperatorClient(at, tokens.reader).signIn.createCode.mutate({})
    for (let tries = 0; tries < 5; tries += 1) expect((await exchange({ code: randomCode() }, {}, at)).status).toBe(401)
    const limited = await exchange({ code: randomCode() }, {}, at)
    expect(limited).toMatchObject({ status: 429, answer: { code: 'rate_limited' } })
    expect(Number(limited.headers.get('retry-after'))).toBeLessThanOrEqual(10)
    expect((await exchange({ code }, {}, at)).status).toBe(200)
  })

  it('is created so many times in a minute by an operator, and others are not concerned', async () => {
    const before = await audit.countDocuments()
    const asked = Array.from({ length: 301 }, () => refusalOrNull(clientOf(tokens.odd).signIn.createCode.mutate({})))
    const refused = (await Promise.all(asked)).filter((refusal) => refusal !== null)
    expect(refused).toMatchObject([{ httpStatus: 429, reason: 'rate_limited' }])
    expect(await audit.countDocuments()).toBe(before + 300)
    await codeOf('reader')
    now += 60_000
    await codeOf('odd')
  })

  it('is refused from pages of other sites', async () => {
    const code = await codeOf('reader')
    const foreign = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'http://127.0.0.1:1' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', origin: url },
    ]
    for (const headers of foreign) {
      expect(await exchange({ code }, headers)).toMatchObject({ status: 403, answer: { code: 'cross_site' } })
    }
    expect((await exchange({ code }, { 'sec-fetch-site': 'same-origin', origin: url })).status).toBe(200)
  })

  it('is a failed login if it is wrong, and the log has its address', async () => {
    const before = system.gateway.logs.length
    await exchange({ code: 'wrong' })
    const refused = system.gateway.logs.slice(before).filter(({ msg }) => msg === 'request.refused')
    expect(refused).toMatchObject([{ code: 'sign_in_code_invalid', reason: 'code_unknown', address: '127.0.0.1' }])
    const { body } = await system.call('/metrics')
    expect(body).toMatch(/oncehook_authentication_failures_total\{[^}]*reason="code_unknown"[^}]*\} \d/)
  })

  it('is created only for a token, and not for a session', async () => {
    expect(await refusalOf(clientOf('').signIn.createCode.mutate({}))).toMatchObject({ reason: 'unauthenticated' })
    const { token } = await signIn('leaving')
    expect(await refusalOf(clientOf(token).signIn.createCode.mutate({}))).toMatchObject({
      ...{ reason: 'session_not_enough', httpStatus: 403 },
    })
  })
})

describe('a session', () => {
  it('is a bearer token like any other, on every gateway of the database', async () => {
    const { token } = await signIn('reader')
    await using other = await startGateway({ database, clock, settings })
    expect(await createOperatorClient(other.adminUrl, token).me.query()).toMatchObject({ operator: 'reader' })
    await clientOf(token).signIn.end.mutate({})
    expect(await refusalOf(createOperatorClient(other.adminUrl, token).me.query())).toMatchObject({
      ...{ reason: 'unauthenticated' },
    })
  })

  it('ends after 12 hours', async () => {
    const { token } = await signIn('reader')
    now += 43_199_999
    expect(await clientOf(token).me.query()).toMatchObject({ operator: 'reader' })
    now += 1
    expect(await refusalOf(clientOf(token).me.query())).toMatchObject({ reason: 'unauthenticated' })
  })

  it('ends no later than the token that opened it', async () => {
    now = started
    const { token, expiresAt } = await signIn('soon')
    expect(expiresAt).toBe(new Date(started + SOON_MS).toISOString())
    expect(await clientOf(token).me.query()).toMatchObject({ operator: 'soon', expiresAt })
    const code = await codeOf('soon')
    now = started + SOON_MS - 60_000
    const late = await codeOf('soon')
    now = started + SOON_MS
    expect(await refusalOf(clientOf(token).me.query())).toMatchObject({ reason: 'unauthenticated' })
    for (const ended of [code, late]) expect(await exchange({ code: ended })).toMatchObject(INVALID)
  })

  it('ends when its operator is no longer in OPERATOR_TOKENS, and so does an unused code', async () => {
    const { token } = await signIn('leaving')
    const code = await codeOf('leaving')
    const left = { OPERATOR_TOKENS: JSON.stringify({ leaving: canaryToken() }) }
    await using later = await startGateway({ database, clock, settings: left })
    expect(await refusalOf(createOperatorClient(later.adminUrl, token).me.query())).toMatchObject({
      ...{ reason: 'unauthenticated' },
    })
    expect(await exchange({ code }, {}, later.adminUrl)).toMatchObject(INVALID)
  })

  it('has the roles that its operator has now', async () => {
    const { token, roles } = await signIn('leaving')
    expect(roles).toEqual(['read', 'operate', 'bodies'])
    const less = { leaving: { tokens: [{ value: tokens.leaving }], roles: ['read'] } }
    await using later = await startGateway({ database, clock, settings: { OPERATOR_TOKENS: JSON.stringify(less) } })
    expect(await createOperatorClient(later.adminUrl, token).me.query()).toMatchObject({ roles: ['read'] })
  })

  it('ends when its token does now, if that is earlier than when it began', async () => {
    const { token } = await signIn('leaving')
    const notAfter = new Date(now + SOON_MS).toISOString()
    const ending = {
      OPERATOR_TOKENS: JSON.stringify({ leaving: { tokens: [{ value: tokens.leaving, notAfter }], roles: ['read'] } }),
    }
    await using later = await startGateway({ database, clock, settings: ending })
    expect(await createOperatorClient(later.adminUrl, token).me.query()).toMatchObject({ expiresAt: notAfter })
  })

  it('is not searched for a token of the settings that looks like its own', async () => {
    expect(await clientOf(tokens.odd).me.query()).toMatchObject({ operator: 'odd', expiresAt: null })
    expect((await signIn('odd')).operator).toBe('odd')
  })

  it('is ended only by its own token', async () => {
    const [{ token }, { token: other }] = [await signIn('reader'), await signIn('reader')]
    expect(await clientOf(tokens.reader).signIn.end.mutate({})).toEqual({ ended: false })
    expect(await clientOf(token).signIn.end.mutate({})).toEqual({ ended: true })
    expect(await refusalOf(clientOf(token).me.query())).toMatchObject({ reason: 'unauthenticated' })
    expect(await clientOf(other).me.query()).toMatchObject({ operator: 'reader' })
    expect(await clientOf(tokens.reader).me.query()).toEqual({ operator: 'reader', roles: ['read'], expiresAt: null })
  })
})

describe('a session whose database is unavailable', () => {
  it('gets 503, and does not count as a failed sign-in', async () => {
    await using other = await testDatabase(process.env)
    await using away = await startOperatedSystem(other, { clock, settings })
    const { code } = await createOperatorClient(away.gateway.adminUrl, tokens.reader).signIn.createCode.mutate({})
    const { answer } = await exchange({ code }, {}, away.gateway.adminUrl)
    const client = createOperatorClient(away.gateway.adminUrl, answer.token)
    expect(await client.me.query()).toMatchObject({ operator: 'reader' })
    // A view with the same name replaces the collection, so that reading it fails.
    await other.db.collection('operator_sessions').drop()
    const pipeline = [{ $set: { a: { $divide: [1, 0] } } }]
    await other.db.createCollection('operator_sessions', { viewOn: 'sign_in_codes', pipeline })
    const another = await createOperatorClient(away.gateway.adminUrl, tokens.reader).signIn.createCode.mutate({})
    expect(await refusalOf(client.me.query())).toMatchObject({ httpStatus: 503, reason: 'unavailable' })
    expect(await exchange({ code: another.code }, {}, away.gateway.adminUrl)).toMatchObject({
      ...{ status: 503, answer: { code: 'unavailable' } },
    })
    expect((await away.call('/metrics')).body).not.toContain('oncehook_authentication_failures_total{')
  })
})

describe('the audit log', () => {
  it('has an entry for each code, each session and each end of one, and none for a refusal', async () => {
    await audit.deleteMany({})
    const { token } = await signIn('reader')
    await exchange({ code: 'wrong' })
    await clientOf(token).signIn.end.mutate({})
    const entries = await audit.find().sort({ seq: 1 }).toArray()
    expect(entries.map(({ by, action }) => [by, action])).toEqual([
      ['reader', 'sign_in.code_created'],
      ['reader', 'sign_in.opened'],
      ['reader', 'sign_in.ended'],
    ])
  })
})

describe('a reader of the database or of the log', () => {
  it('finds no code, no token of a session and no token of an operator', async () => {
    const unused = await codeOf('reader')
    const code = await codeOf('reader')
    const { answer } = await exchange({ code })
    await clientOf(answer.token).me.query()
    await exchange({ code })
    await refusalOf(clientOf(`${answer.token.slice(0, -2)}xx`).me.query())
    const collections = await database.db.collections()
    // As the database has it: in JSON, binary values are in Base64.
    const stored = await Promise.all(
      collections.map(async (one) => (await one.find({}, { raw: true }).toArray()).map(String).join()),
    )
    const told = JSON.stringify(system.gateway.logs) + stored.join()
    for (const shown of ['sign_in.opened', 'sealed']) expect(told).toContain(shown)
    for (const secret of [unused, code, answer.token, tokens.reader]) expect(told).not.toContain(secret)
  })
})
