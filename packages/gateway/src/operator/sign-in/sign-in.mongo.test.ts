import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { refusalOf } from '@oncehook/fulfilment/testing/fulfilment-client'
import { canaryToken } from '@oncehook/kernel/testing/canary-token'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { startGateway } from '../../testing/start-gateway.ts'
import {
  cookieOf,
  createOperatorClient,
  createPageClient,
  pageHeaders,
  startOperatedSystem,
} from '../../testing/start-operated-system.ts'

const tokens = {
  ...{ reader: canaryToken(), nobody: canaryToken(), leaving: canaryToken(), soon: canaryToken() },
  odd: canaryToken(),
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
const pageOf = (cookie: string, at = url) => createPageClient(at, cookie)
const codeOf = async (name: keyof typeof tokens) => (await clientOf(tokens[name]).signIn.createCode.mutate({})).code
/** Each test has its own minute, so that no other test's wrong codes count. */
beforeEach(() => {
  now += 60_000
})

interface Session {
  readonly cookie: string
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
  const answer = (await response.json()) as Omit<Session, 'cookie'> & { code: string }
  return { status: response.status, headers: response.headers, answer, cookie: cookieOf(response) }
}

async function signIn(name: keyof typeof tokens): Promise<Session> {
  const { status, answer, cookie } = await exchange({ code: await codeOf(name) })
  expect(status).toBe(200)
  return { ...answer, cookie }
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

const INVALID = { status: 401, answer: { code: 'sign_in_code_invalid' } }

describe('a sign-in code', () => {
  it('opens a session with the name and the roles of the person who requested it', async () => {
    const { headers, answer, cookie } = await exchange({ code: await codeOf('reader') })
    const expiresAt = new Date(now + 43_200_000).toISOString()
    expect(answer).toEqual({ operator: 'reader', roles: ['read'], expiresAt })
    expect(headers.get('cache-control')).toBe('no-store')
    const session = pageOf(cookie)
    expect(await session.me.query()).toEqual({
      ...{ operator: 'reader', roles: ['read'], expiresAt },
      session: expect.stringMatching(/^[0-9a-f]{16}$/),
    })
    expect(await session.events.list.query()).toMatchObject({ items: [] })
    expect(await refusalOf(session.events.close.mutate({ id: '0'.repeat(24), reason: 'none' }))).toMatchObject({
      ...{ reason: 'role_missing' },
    })
  })

  it('says who it is for before it is used, and can be used afterwards', async () => {
    const code = await codeOf('reader')
    for (let times = 0; times < 2; times += 1) {
      const { status, answer, headers } = await exchange({ code, check: true })
      expect([status, answer, headers.getSetCookie()]).toEqual([200, { operator: 'reader' }, []])
    }
    expect((await exchange({ code })).answer).toMatchObject({ operator: 'reader' })
    for (const gone of [code, randomCode()]) expect(await exchange({ code: gone, check: true })).toMatchObject(INVALID)
    expect((await exchange({ code, check: false })).status).toBe(400)
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
    ['a code and a token', { code: 'x', token: 'x' }],
    ['no object', '[]'],
    ['broken JSON', '{"code":'],
  ])('is a text in an object, not %s', async (_, body) => {
    expect((await exchange(body)).status).toBe(400)
  })

  it('opens a session however many wrong ones others have sent, from whatever address', async () => {
    const code = await codeOf('reader')
    // Fewer than the listener has connections.
    const wrong = Array.from({ length: 150 }, (_, n) => exchangeFrom(`127.0.0.${2 + (n % 30)}`, randomCode()))
    expect(new Set(await Promise.all(wrong))).toEqual(new Set([401]))
    expect(await exchangeFrom('127.0.0.2', code)).toBe(200)
    expect((await exchange({ code: await codeOf('reader') })).status).toBe(200)
  })

  it('is counted if it is wrong: an address with too many gets 429, but still signs in with a correct one', async () => {
    await using strict = await startGateway({ database, clock, settings: { ...settings, RATE_LIMIT_FAILED: '5' } })
    const at = strict.adminUrl
    const { code } = await createOperatorClient(at, tokens.reader).signIn.createCode.mutate({})
    for (let tries = 0; tries < 5; tries += 1) expect((await exchange({ code: randomCode() }, {}, at)).status).toBe(401)
    const limited = await exchange({ code: randomCode() }, {}, at)
    expect(limited).toMatchObject({ status: 429, answer: { code: 'rate_limited' } })
    expect(Number(limited.headers.get('retry-after'))).toBeLessThanOrEqual(10)
    expect((await exchange({ code }, {}, at)).status).toBe(200)
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
    // A gateway of its own: after the many of another test, a line is only counted.
    await using quiet = await startGateway({ database, clock, settings })
    await exchange({ code: 'wrong' }, {}, quiet.adminUrl)
    const refused = quiet.logs.filter(({ msg }) => msg === 'request.refused')
    expect(refused).toMatchObject([{ code: 'sign_in_code_invalid', reason: 'code_unknown', address: '127.0.0.1' }])
    const body = await (await fetch(`${quiet.adminUrl}/metrics`)).text()
    expect(body).toMatch(/oncehook_authentication_failures_total\{[^}]*reason="code_unknown"[^}]*\} \d/)
  })

  it('is created only for a token, and not for a session', async () => {
    expect(await refusalOf(clientOf('').signIn.createCode.mutate({}))).toMatchObject({ reason: 'unauthenticated' })
    const { cookie } = await signIn('leaving')
    expect(await refusalOf(pageOf(cookie).signIn.createCode.mutate({}))).toMatchObject({
      ...{ reason: 'session_not_enough', httpStatus: 403 },
    })
  })
})

describe('a token', () => {
  it('opens a session as a code does, and its cookie is for this listener only, and for no script', async () => {
    const { status, headers, answer, cookie } = await exchange({ token: tokens.reader })
    expect({ status, answer }).toMatchObject({ status: 200, answer: { operator: 'reader', roles: ['read'] } })
    const { port } = new URL(url)
    // Those before it remove what somebody else may have set.
    expect(headers.getSetCookie().slice(-1)).toEqual([
      expect.stringMatching(
        new RegExp(`^oncehook-session-${port}=ohs_[\\w-]{43}; Path=/operator/; HttpOnly; SameSite=Strict$`),
      ),
    ])
    expect(await pageOf(cookie).me.query()).toMatchObject({ operator: 'reader' })
    expect(JSON.stringify(answer)).not.toContain('ohs_')
  })

  it('opens nothing if it is wrong, and is a failed login', async () => {
    for (const token of [canaryToken(), '', 'two words', 'ünïcode']) {
      const { status, answer, headers } = await exchange({ token })
      expect([status, answer.code, headers.getSetCookie()]).toEqual([401, 'unauthenticated', []])
    }
  })
})

describe('the cookie of a session', () => {
  const me = (headers: Record<string, string>) => system.call('/operator/me', { headers })
  const pause = (headers: Record<string, string>) =>
    system.call('/operator/providers.pause', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ provider: 'shop', reason: 'forged' }),
    })
  const pauses = () => database.db.collection('provider_pauses').countDocuments()

  it('reads nothing and writes nothing for a page of another origin, or without the header of the page', async () => {
    const { cookie } = await signIn('leaving')
    const own = pageHeaders(cookie)
    const foreign = [
      { cookie },
      { ...own, origin: 'https://evil.example' },
      { ...own, origin: 'null' },
      { ...own, origin: 'http://127.0.0.1:1' },
      ...['cross-site', 'same-site', 'none'].map((site) => ({ ...own, 'sec-fetch-site': site })),
    ]
    for (const headers of foreign) {
      for (const call of [me, pause]) {
        const { status, body } = await call(headers)
        expect([status, body]).toEqual([403, expect.stringContaining('cross_site')])
      }
    }
    expect(await pauses()).toBe(0)
    expect((await pause({ ...own, origin: url, 'sec-fetch-site': 'same-origin' })).status).toBe(200)
    await clientOf(tokens.leaving).providers.resume.mutate({ provider: 'shop', reason: 'it was a test' })
  })

  it('can only ask whose it is as long as the page does not know, and does nothing for another session', async () => {
    const [{ cookie }, other] = [await signIn('leaving'), await signIn('reader')]
    expect((await me({ cookie, 'oncehook-session': '*' })).status).toBe(200)
    const reading = await system.call('/operator/audit.list', { headers: { cookie, 'oncehook-session': '*' } })
    expect(reading.status).toBe(401)
    for (const named of ['*', pageHeaders(other.cookie)['oncehook-session']]) {
      expect((await pause({ cookie, 'oncehook-session': named })).status).toBe(401)
    }
    expect(await pauses()).toBe(0)
  })

  it('is found by the session that a call names, whichever others another port or host has set', async () => {
    const [own, planted] = [await signIn('leaving'), await signIn('reader')]
    for (const other of [planted.cookie, `${planted.cookie.split('=')[0]}=planted`]) {
      const headers = { ...pageHeaders(own.cookie), cookie: `${other}; ${own.cookie}` }
      expect((await pause(headers)).status).toBe(200)
      await clientOf(tokens.leaving).providers.resume.mutate({ provider: 'shop', reason: 'it was a test' })
      const asked = await me({ ...headers, 'oncehook-session': '*' })
      expect([asked.status, asked.body]).toEqual([409, expect.stringContaining('session_ambiguous')])
    }
  })

  it('does not count beside a token', async () => {
    const { cookie } = await signIn('leaving')
    const { body } = await me({ cookie, authorization: `Bearer ${tokens.reader}` })
    expect(JSON.parse(body)).toMatchObject({ result: { data: { operator: 'reader', session: null } } })
    expect((await me({ cookie, authorization: 'Bearer wrong', 'oncehook-session': '*' })).status).toBe(401)
  })

  it('is no bearer token', async () => {
    const { cookie } = await signIn('leaving')
    expect(await refusalOf(clientOf(cookie.split('=')[1] ?? '').me.query())).toMatchObject({
      ...{ reason: 'unauthenticated' },
    })
  })

  it('is removed when its session ends by signing out', async () => {
    const { cookie } = await signIn('reader')
    const { status, headers } = await system.call('/operator/signIn.end', {
      method: 'POST',
      headers: { ...pageHeaders(cookie), 'content-type': 'application/json' },
      body: '{}',
    })
    expect([status, headers.getSetCookie()]).toEqual([
      ...[200, [`${cookie.split('=')[0]}=; Path=/operator/; HttpOnly; SameSite=Strict; Max-Age=0`]],
    ])
    expect((await me({ cookie, 'oncehook-session': '*' })).status).toBe(401)
  })
})

describe('sessions', () => {
  const reason = 'a laptop was lost'

  it('of oneself are listed, and ending one leaves the other', async () => {
    await database.db.collection('operator_sessions').deleteMany({})
    const [first, second] = [pageOf((await signIn('reader')).cookie), pageOf((await signIn('reader')).cookie)]
    await signIn('leaving')
    const listed = await first.sessions.list.query()
    const at = new Date(now).toISOString()
    const times = { openedAt: at, usedAt: at, endsAt: new Date(now + 43_200_000).toISOString() }
    expect(listed.toSorted((a, b) => Number(b.isCurrent) - Number(a.isCurrent))).toEqual([
      { id: (await first.me.query()).session, operator: 'reader', isCurrent: true, ...times },
      { id: (await second.me.query()).session, operator: 'reader', isCurrent: false, ...times },
    ])
    const id = listed.find(({ isCurrent }) => !isCurrent)?.id ?? ''
    expect(await first.sessions.end.mutate({ id, reason })).toEqual({ ended: 1 })
    expect(await refusalOf(second.me.query())).toMatchObject({ reason: 'unauthenticated' })
    expect(await first.me.query()).toMatchObject({ operator: 'reader' })
    expect(await first.sessions.end.mutate({ id, reason })).toEqual({ ended: 0 })
  })

  it('of another operator are listed and ended with the role operate only, at the next call, with an entry for each', async () => {
    await audit.deleteMany({})
    await database.db.collection('operator_sessions').deleteMany({})
    const readers = [pageOf((await signIn('reader')).cookie), pageOf((await signIn('reader')).cookie)]
    const kept = pageOf((await signIn('odd')).cookie)
    const { session: id } = await kept.me.query()
    expect(await readers[0]?.sessions.end.mutate({ id: String(id), reason })).toEqual({ ended: 0 })
    const refused = readers[0]?.sessions.end.mutate({ operator: 'odd', reason }) ?? Promise.resolve()
    expect(await refusalOf(refused)).toMatchObject({ reason: 'role_missing' })
    const administrator = clientOf(tokens.leaving)
    const listed = (await administrator.sessions.list.query()).map(({ operator }) => operator)
    expect(listed.toSorted()).toEqual(['odd', 'reader', 'reader'])
    expect(await administrator.sessions.end.mutate({ operator: 'reader', reason })).toEqual({ ended: 2 })
    for (const page of readers) expect(await refusalOf(page.me.query())).toMatchObject({ reason: 'unauthenticated' })
    expect(await kept.me.query()).toMatchObject({ operator: 'odd' })
    const entries = await audit.find({ action: 'sign_in.ended' }).toArray()
    const entry = { by: 'leaving', reason, details: { session: expect.stringMatching(/^[0-9a-f]{16}$/), of: 'reader' } }
    expect(entries).toMatchObject([entry, entry])
  })

  it('have one entry for their end, however many calls end them at once', async () => {
    await audit.deleteMany({})
    const [left, taken] = [pageOf((await signIn('reader')).cookie), pageOf((await signIn('odd')).cookie)]
    const { session } = await taken.me.query()
    const administrator = clientOf(tokens.leaving)
    const end = { id: String(session), reason }
    const calls = Array.from({ length: 30 }, () => [left.signIn.end.mutate({}), administrator.sessions.end.mutate(end)])
    await Promise.allSettled(calls.flat())
    expect(await refusalOf(left.me.query())).toMatchObject({ reason: 'unauthenticated' })
    expect(await refusalOf(taken.me.query())).toMatchObject({ reason: 'unauthenticated' })
    const entries = await audit.find({ action: 'sign_in.ended' }).toArray()
    expect(entries.map(({ by }) => by).toSorted()).toEqual(['leaving', 'reader'])
  })

  it('are at most 50 of an operator, and any of them can be ended, however many there are', async () => {
    const { cookie } = await signIn('reader')
    const opened = database.db.collection('operator_sessions')
    const [oldest] = await opened.find({ operator: 'reader' }).sort({ openedAt: -1 }).limit(1).toArray()
    const others = Array.from({ length: 1_100 }, (_, n) => ({
      ...{ ...oldest, _id: `${n}`.padStart(64, 'f') as never, operator: n < 50 ? 'reader' : `other ${n}` },
      openedAt: new Date(now + 1_000),
    }))
    await opened.insertMany(others)
    const { session } = await pageOf(cookie).me.query()
    expect(await clientOf(tokens.leaving).sessions.end.mutate({ id: String(session), reason })).toEqual({ ended: 1 })
    now += 60_000
    const first = pageOf((await signIn('reader')).cookie)
    expect(await opened.countDocuments({ operator: 'reader' })).toBe(50)
    expect(await first.me.query()).toMatchObject({ operator: 'reader' })
    await opened.deleteMany({ _id: { $in: others.map(({ _id }) => _id) } })
  })
})

describe('a session', () => {
  it('is known to every gateway of the database, and so is its end', async () => {
    const { cookie } = await signIn('reader')
    await using other = await startGateway({ database, clock, settings })
    const { port } = new URL(other.adminUrl)
    const there = createPageClient(other.adminUrl, cookie.replace(/-\d+=/, `-${port}=`))
    expect(await there.me.query()).toMatchObject({ operator: 'reader' })
    await pageOf(cookie).signIn.end.mutate({})
    expect(await refusalOf(there.me.query())).toMatchObject({ reason: 'unauthenticated' })
  })

  it('ends after 12 hours, however often it is used', async () => {
    const { cookie } = await signIn('reader')
    const end = now + 43_200_000
    while (now < end - 3_000_000) {
      now += 3_000_000
      expect(await pageOf(cookie).me.query()).toMatchObject({ operator: 'reader' })
    }
    now = end - 1
    expect(await pageOf(cookie).me.query()).toMatchObject({ operator: 'reader' })
    now = end
    expect(await refusalOf(pageOf(cookie).me.query())).toMatchObject({ reason: 'unauthenticated' })
  })

  it('ends after an hour without use', async () => {
    // Another test sets the clock back, so that sessions of others can end later than this one.
    await database.db.collection('operator_sessions').deleteMany({})
    const { cookie } = await signIn('reader')
    now += 3_599_999
    expect(await pageOf(cookie).me.query()).toMatchObject({ operator: 'reader' })
    expect(await clientOf(tokens.reader).sessions.list.query()).toContainEqual(
      expect.objectContaining({ usedAt: new Date(now).toISOString() }),
    )
    now += 3_600_000
    expect(await refusalOf(pageOf(cookie).me.query())).toMatchObject({ reason: 'unauthenticated' })
    expect(await clientOf(tokens.reader).sessions.list.query()).toEqual([])
  })

  it('ends no later than the token that opened it', async () => {
    now = started
    const { cookie, expiresAt } = await signIn('soon')
    expect(expiresAt).toBe(new Date(started + SOON_MS).toISOString())
    expect(await pageOf(cookie).me.query()).toMatchObject({ operator: 'soon', expiresAt })
    const code = await codeOf('soon')
    now = started + SOON_MS - 60_000
    const late = await codeOf('soon')
    now = started + SOON_MS
    expect(await refusalOf(pageOf(cookie).me.query())).toMatchObject({ reason: 'unauthenticated' })
    for (const ended of [code, late]) expect(await exchange({ code: ended })).toMatchObject(INVALID)
  })

  it('ends when its operator is no longer in OPERATOR_TOKENS, and so does an unused code', async () => {
    const code = await codeOf('leaving')
    const left = { OPERATOR_TOKENS: JSON.stringify({ leaving: canaryToken() }) }
    await using later = await startGateway({ database, clock, settings: left })
    const there = await pageOfLeaving(later.adminUrl)
    expect(await refusalOf(there.me.query())).toMatchObject({ reason: 'unauthenticated' })
    expect(await exchange({ code }, {}, later.adminUrl)).toMatchObject(INVALID)
  })

  it('has the roles that its operator has now, and ends when its token does now, if that is earlier than it was', async () => {
    const notAfter = new Date(now + SOON_MS).toISOString()
    const less = { leaving: { tokens: [{ value: tokens.leaving, notAfter }], roles: ['read'] } }
    await using later = await startGateway({ database, clock, settings: { OPERATOR_TOKENS: JSON.stringify(less) } })
    const there = await pageOfLeaving(later.adminUrl)
    expect(await there.me.query()).toMatchObject({ roles: ['read'], expiresAt: notAfter })
  })

  it('is not that of a token', async () => {
    expect(await clientOf(tokens.reader).signIn.end.mutate({})).toEqual({ ended: false })
    expect(await clientOf(tokens.reader).me.query()).toEqual({
      ...{ operator: 'reader', roles: ['read'], expiresAt: null, session: null },
    })
  })
})

/** The page of another gateway, in a session of an operator who may do everything here. */
async function pageOfLeaving(at: string) {
  const { cookie, roles } = await signIn('leaving')
  expect(roles).toEqual(['read', 'operate', 'bodies', 'orders'])
  return createPageClient(at, cookie.replace(/-\d+=/, `-${new URL(at).port}=`))
}

describe('a session whose database is unavailable', () => {
  it('gets 503, and does not count as a failed sign-in', async () => {
    await using other = await testDatabase(process.env)
    await using away = await startGateway({ database: other, clock, settings })
    const { code } = await createOperatorClient(away.adminUrl, tokens.reader).signIn.createCode.mutate({})
    const { cookie } = await exchange({ code }, {}, away.adminUrl)
    const client = pageOf(cookie, away.adminUrl)
    expect(await client.me.query()).toMatchObject({ operator: 'reader' })
    // A view with the same name replaces the collection, so that reading it fails.
    await other.db.collection('operator_sessions').drop()
    const pipeline = [{ $set: { a: { $divide: [1, 0] } } }]
    await other.db.createCollection('operator_sessions', { viewOn: 'sign_in_codes', pipeline })
    const another = await createOperatorClient(away.adminUrl, tokens.reader).signIn.createCode.mutate({})
    expect(await refusalOf(client.me.query())).toMatchObject({ httpStatus: 503, reason: 'unavailable' })
    expect(await exchange({ code: another.code }, {}, away.adminUrl)).toMatchObject({
      ...{ status: 503, answer: { code: 'unavailable' } },
    })
    expect(await (await fetch(`${away.adminUrl}/metrics`)).text()).not.toContain(
      'oncehook_authentication_failures_total{',
    )
  })
})

describe('the audit log', () => {
  it('has an entry for each code, each session and each end of one, and none for a refusal', async () => {
    await audit.deleteMany({})
    const { cookie } = await signIn('reader')
    await exchange({ code: 'wrong' })
    await pageOf(cookie).signIn.end.mutate({})
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
    const { cookie } = await exchange({ code })
    const token = cookie.split('=')[1] ?? ''
    await pageOf(cookie).me.query()
    await exchange({ code })
    await refusalOf(pageOf(`${cookie.slice(0, -2)}xx`).me.query())
    await exchange({ token: tokens.reader })
    const collections = await database.db.collections()
    // As the database has it: in JSON, binary values are in Base64.
    const stored = await Promise.all(
      collections.map(async (one) => (await one.find({}, { raw: true }).toArray()).map(String).join()),
    )
    const told = JSON.stringify(system.gateway.logs) + stored.join()
    for (const shown of ['sign_in.opened', 'sealed']) expect(told).toContain(shown)
    for (const secret of [unused, code, token, tokens.reader]) expect(told).not.toContain(secret)
  })
})
