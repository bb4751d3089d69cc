import { randomUUID } from 'node:crypto'
import { refusalOf } from '@oncehook/fulfilment/testing/fulfilment-client'
import { canaryToken } from '@oncehook/kernel/testing/canary-token'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { operatorRouter } from '../../start/operator-router.ts'
import { createOperatorClient, paymentEvent, startOperatedSystem } from '../../testing/start-operated-system.ts'

const tokens = {
  reader: canaryToken(),
  operator: canaryToken(),
  auditor: canaryToken(),
  keeper: canaryToken(),
  nobody: canaryToken(),
  ended: canaryToken(),
}
const entry = (value: string, roles: readonly string[], more: object = {}) => ({ tokens: [{ value, ...more }], roles })

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(
  await startOperatedSystem(database, {
    limits: { rateWindowSeconds: 3_600 },
    settings: {
      RATE_LIMIT_FAILED: '5',
      OPERATOR_TOKENS: JSON.stringify({
        reader: entry(tokens.reader, ['read']),
        operator: entry(tokens.operator, ['operate']),
        auditor: entry(tokens.auditor, ['bodies']),
        keeper: entry(tokens.keeper, ['orders']),
        nobody: entry(tokens.nobody, []),
        ended: entry(tokens.ended, ['read'], { notAfter: '2026-01-01T00:00:00Z' }),
      }),
    },
  }),
)
const clientOf = (name: keyof typeof tokens) => createOperatorClient(system.gateway.adminUrl, tokens[name])
const FORBIDDEN = { code: 'FORBIDDEN', httpStatus: 403, reason: 'role_missing' }
const REFUSED = { error: { data: FORBIDDEN } }
const audit = database.db.collection('audit')

const PROCEDURES = Object.entries(
  operatorRouter._def.procedures as unknown as Record<string, { _def: { type: 'query' | 'mutation' } }>,
).map(([name, { _def }]) => [name, _def.type] as const)

const countWritten = () =>
  Promise.all(
    ['audit', 'sign_in_codes', 'operator_sessions'].map((name) => database.db.collection(name).countDocuments()),
  )

/** Calls a procedure with an empty input, because the role is checked before the input. */
async function callBare(name: string, kind: 'query' | 'mutation', token: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const sent = kind === 'query' ? { headers } : { method: 'POST', headers, body: '{}' }
  return JSON.parse((await system.call(`/operator/${name}`, sent)).body)
}

/** Sends a delivery of a payment with the wrong amount and waits until it is dead. Resolves to its ids. */
async function deadEvent(): Promise<{ id: string; eventId: string }> {
  const eventId = randomUUID()
  await system.deliver(paymentEvent(eventId, { orderId: await system.order(), amount: 1 }))
  const record = await system.until(eventId, ({ state }) => state === 'dead')
  return { id: String(record._id), eventId }
}

describe('a role', () => {
  it('is needed by every procedure, except to ask who one is and to sign out', async () => {
    const before = await countWritten()
    for (const [name, kind] of PROCEDURES) {
      if (name === 'me' || name === 'signIn.end') continue
      expect({ name, answer: await callBare(name, kind, tokens.nobody) }).toMatchObject({ name, answer: REFUSED })
    }
    expect(await countWritten()).toEqual(before)
    const nobody = clientOf('nobody')
    expect(await nobody.me.query()).toMatchObject({ operator: 'nobody', roles: [] })
    expect(await nobody.signIn.end.mutate({})).toEqual({ ended: false })
  })

  it.each(['reader', 'auditor', 'keeper'] as const)(
    'of %s is refused by every procedure that changes something',
    async (who) => {
      // Those of the sign-in and of sessions change nothing but the operator's own.
      const mutations = PROCEDURES.filter(([name, kind]) => kind === 'mutation' && !/^(?:signIn|sessions)\./.test(name))
      expect(mutations.map(([name]) => name)).toContain('erase')
      for (const [name, kind] of mutations) {
        if (who === 'keeper' && name === 'orders.correct') continue
        expect({ name, answer: await callBare(name, kind, tokens[who]) }).toMatchObject({ name, answer: REFUSED })
      }
    },
  )

  it('to read shows an event without its body and signature, and changes nothing', async () => {
    const { id, eventId } = await deadEvent()
    const reader = clientOf('reader')
    const before = await audit.countDocuments()
    const shown = await reader.events.get.query({ id })
    expect(shown).toMatchObject({ eventId, raw: null, headers: { 'content-type': 'application/json' } })
    expect(shown.headers).not.toHaveProperty('stripe-signature')
    expect(shown.bytes).toBeGreaterThan(10)
    const refused = [
      reader.events.get.query({ id, body: true }),
      clientOf('auditor').events.close.mutate({ id, reason: 'to see whether it is allowed' }),
      clientOf('operator').events.get.query({ id, body: true }),
    ]
    for (const refusal of await Promise.all(refused.map(refusalOf))) expect(refusal).toMatchObject(FORBIDDEN)
    expect(await audit.countDocuments()).toBe(before)
    expect(await system.record(eventId)).toMatchObject({ state: 'dead' })
  })

  it('for bodies shows them, after the audit log has named the operator', async () => {
    const { id, eventId } = await deadEvent()
    const shown = await clientOf('auditor').events.get.query({ id, body: true, reason: 'a customer asks' })
    expect(JSON.parse(Buffer.from(shown.raw ?? '', 'base64').toString())).toMatchObject({ id: eventId })
    expect(shown.headers).toHaveProperty('stripe-signature')
    const [newest] = (await clientOf('reader').audit.list.query({ limit: 1 })).items
    expect(newest).toMatchObject({
      ...{ by: 'auditor', action: 'events.read-body', reason: 'a customer asks' },
      details: { id, provider: 'acme', eventId },
    })
    const lines = system.gateway.logs.filter((line) => line.msg === 'operator.called' && line.id === id)
    expect(lines).toMatchObject([{ procedure: 'events.get', operator: 'auditor', withBody: true, status: 200 }])
  })
})

/** Calls as they are written: `POST receipts.releaseAll`. An input that is a text is sent as it is. */
async function attempt(who: keyof typeof tokens, call: string, input: unknown) {
  const [method = '', procedure = ''] = call.split(' ')
  const text = typeof input === 'string' ? input : JSON.stringify(input)
  const headers = { authorization: `Bearer ${tokens[who]}`, 'content-type': 'application/json' }
  const query = `${procedure.includes('?') ? '&' : '?'}input=${encodeURIComponent(text)}`
  return method === 'POST'
    ? await system.call(`/operator/${procedure}`, { method, headers, body: text })
    : await system.call(`/operator/${procedure}${query}`, { method, headers })
}

describe('an attempt', () => {
  const reason = 'to see what gets through'
  const LONG = 'x'.repeat(5_000)
  const order = { id: 'ord_1', version: 1, currency: 'USD', reason }
  const item = { sku: 'book', quantity: 1, unitAmount: 1 }
  const afterMade = (...place: unknown[]) => ({ after: Buffer.from(JSON.stringify(place)).toString('base64url') })

  it.each<[who: keyof typeof tokens, call: string, input: unknown, status: number]>([
    // Without a role, and by a method that is not the procedure's.
    ['nobody', 'HEAD minutes', { period: 'hour' }, 403],
    ['nobody', 'POST events.feed', { limit: -1 }, 403],
    ['nobody', 'POST sessions.end', { operator: 'nobody', reason }, 403],
    ['operator', 'GET sessions.end', { operator: 'reader', reason }, 405],
    ['operator', 'GET receipts.releaseAll', { reason }, 405],
    ['keeper', 'GET orders.correct', order, 405],
    ['operator', 'DELETE receipts.list', {}, 405],
    // With another role.
    ['reader', 'POST sessions.end', { operator: 'operator', reason }, 403],
    ['auditor', 'POST sessions.end', { operator: 'reader', reason }, 403],
    ['keeper', 'POST sessions.end', { operator: 'reader', reason }, 403],
    ['auditor', 'POST receipts.releaseAll', { reason, dryRun: true }, 403],
    ['keeper', 'POST receipts.releaseAll', { reason, dryRun: true }, 403],
    ['operator', 'POST orders.correct', order, 403],
    ['auditor', 'POST orders.correct', order, 403],
    ['operator', 'POST events.feed', { text: 'jane' }, 403],
    ['keeper', 'POST events.feed', { text: 'jane' }, 403],
    ['keeper', 'POST events.get', { id: '0'.repeat(24), body: true }, 403],
    // Somebody's name in an address.
    ['auditor', 'GET events.feed', { text: 'jane' }, 405],
    ['reader', 'GET events.feed', { about: 'jane' }, 405],
    ['reader', 'HEAD events.feed', { about: 'jane' }, 405],
    // Names that an object or a query has, and other types.
    ['reader', 'GET events.feed', { reason: '__proto__', handler: 'constructor', type: '$where' }, 200],
    ['reader', 'GET events.feed', '{"__proto__":{"limit":1}}', 400],
    ['reader', 'GET events.feed', { $where: '1' }, 400],
    ['reader', 'GET events.feed', { provider: { $ne: null } }, 400],
    ['reader', 'GET events.feed', { state: '__proto__' }, 400],
    ['reader', 'GET events.feed', { type: LONG }, 400],
    ['reader', 'GET events.feed', { about: 'x', text: 'y' }, 400],
    ['reader', 'GET minutes', {}, 400],
    ['reader', 'GET minutes', { period: '__proto__' }, 400],
    ['reader', 'GET minutes', { period: 'constructor' }, 400],
    ['reader', 'GET minutes', { period: ['hour'] }, 400],
    ['reader', 'GET minutes', { period: 'hour', from: 0 }, 400],
    ['reader', 'GET providers.refusedSettings', { provider: 'acme' }, 400],
    ['reader', 'GET sessions.list', { operator: 'operator' }, 400],
    ['operator', 'POST sessions.end', { operator: '__proto__', reason }, 200],
    ['operator', 'POST sessions.end', { operator: { $ne: '' }, reason }, 400],
    ['operator', 'POST sessions.end', { id: '.'.repeat(16), reason }, 200],
    ['operator', 'POST sessions.end', { id: '', reason }, 400],
    ['operator', 'POST sessions.end', { id: '0'.repeat(16), operator: 'reader', reason }, 400],
    ['operator', 'POST sessions.end', { reason }, 400],
    ['operator', 'POST receipts.releaseAll', { reason, after: { $gt: '' } }, 400],
    ['operator', 'POST receipts.releaseAll', { reason, after: LONG }, 400],
    ['operator', 'POST receipts.releaseAll', { reason, after: '$where' }, 200],
    ['operator', 'POST receipts.releaseAll', { reason, dryRun: 'true' }, 400],
    ['operator', 'POST receipts.releaseAll', { reason: '\u200b\u200b\u200b' }, 400],
    ['keeper', 'POST orders.correct', { ...order, id: '__proto__' }, 404],
    ['keeper', 'POST orders.correct', { ...order, id: 'constructor' }, 404],
    ['keeper', 'POST orders.correct', { ...order, id: '$set' }, 400],
    ['keeper', 'POST orders.correct', { ...order, id: '..' }, 400],
    ['keeper', 'POST orders.correct', { ...order, version: -1 }, 400],
    ['keeper', 'POST orders.correct', { ...order, version: 1e300 }, 400],
    ['keeper', 'POST orders.correct', { ...order, version: '1' }, 400],
    ['keeper', 'POST orders.correct', { ...order, status: 'paid' }, 400],
    ['keeper', 'POST orders.correct', { ...order, items: [{ ...item, amountDue: 0 }] }, 400],
    ['keeper', 'POST orders.correct', { ...order, items: { 0: item } }, 400],
    ...['constructor', 'toString', '__proto__', 'me.__proto__', 'events', 'events.feed/', 'minutes.'].map(
      (name) => ['operator', `GET ${name}`, {}, 404] as [keyof typeof tokens, string, object, number],
    ),
    ['reader', 'POST minutes?batch=1', { 0: { period: 'hour' } }, 400],
    ['reader', 'GET minutes?connectionParams=%7B', { period: 'hour' }, 400],
    // Limits, times and cursors.
    ...[0, -1, 101, 0.5, 1e300, '20', null].map(
      (limit) => ['reader', 'GET events.feed', { limit }, 400] as [keyof typeof tokens, string, object, number],
    ),
    ['reader', 'GET events.feed', { withinMs: -1 }, 400],
    ['reader', 'GET events.feed', { withinMs: 600_000 }, 400],
    ['reader', 'GET events.feed', { after: '0'.repeat(23) }, 400],
    ['reader', 'GET events.feed', { after: 'F'.repeat(24) }, 400],
    ['reader', 'GET events.feed', { after: { $gt: '' } }, 400],
    ['reader', 'GET events.feed', { after: '0'.repeat(24) }, 200],
    ['reader', 'GET events.feed', { from: '0000-01-01T00:00:00Z', to: '9999-12-31T23:59:59.999999Z' }, 200],
    ['reader', 'GET events.feed', { from: '-000001-01-01T00:00:00Z' }, 400],
    ['reader', 'GET events.feed', { from: 8.64e15 }, 400],
    ['reader', 'GET receipts.list', afterMade({ $gt: '' }, 'a', 'b'), 400],
    ['reader', 'GET receipts.list', afterMade('1', 'a', 'b'), 400],
    ['reader', 'GET receipts.list', afterMade(9e15, 'a', 'b'), 400],
    ['reader', 'GET receipts.list', afterMade(null, { $ne: 1 }, 'b'), 400],
    ['reader', 'GET receipts.list', afterMade(8.64e15, '$where', '__proto__'), 200],
    ['reader', 'GET receipts.list', { after: LONG }, 400],
    ['reader', 'GET receipts.list', { orderId: { $ne: '' } }, 400],
    ['reader', 'GET receipts.list', { limit: -1 }, 400],
  ])('of %s by %s with %j gets %i, writes nothing and no line of an error', async (who, call, input, status) => {
    const before = await countWritten()
    const lines = system.gateway.logs.length
    const answer = await attempt(who, call, input)
    expect({ status: answer.status, body: answer.body }).toMatchObject({ status })
    expect(await countWritten()).toEqual(before)
    expect(system.gateway.logs.slice(lines).filter(({ level }) => level === 'error')).toEqual([])
  })
})

describe('an input that would cost much to parse', () => {
  const text = (length: number) => JSON.stringify({ a: 'x'.repeat(length) })
  const items = Array.from({ length: 1_000 }, () => ({ sku: 'x'.repeat(255), quantity: 1_000, unitAmount: 1_000_000 }))
  const LARGEST_ORDER = JSON.stringify({ items })
  const members = (count: number) => JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [n, 0])))
  it.each([
    { name: 'nobody', procedure: 'me', body: text(1_024), status: 413, reason: 'payload_too_large' },
    { name: 'nobody', procedure: 'events.replay', body: text(1_024), status: 413, reason: 'payload_too_large' },
    { name: 'nobody', procedure: 'events.replay', body: text(512), status: 403, reason: 'role_missing' },
    { name: 'reader', procedure: 'events.list', body: text(524_288), status: 413, reason: 'payload_too_large' },
    { name: 'reader', procedure: 'orders.correct', body: LARGEST_ORDER, status: 403, reason: 'role_missing' },
    { name: 'reader', procedure: 'events.list', body: members(10_001), status: 400, reason: 'invalid_body' },
    { name: 'reader', procedure: 'events.list', body: members(9_000), status: 400, reason: 'invalid_request' },
  ] as const)(
    'is refused with $status $reason: $name, $procedure',
    async ({ name, procedure, status, reason, ...sent }) => {
      const headers = { authorization: `Bearer ${tokens[name]}`, 'content-type': 'application/json' }
      const before = system.gateway.logs.length
      const answer = await system.call(`/operator/${procedure}`, { method: 'POST', headers, ...sent })
      expect(answer.status).toBe(status)
      expect(JSON.parse(answer.body).error.data).toMatchObject({ reason })
      expect(answer.body.length).toBeLessThan(1_000)
      expect(system.gateway.logs.slice(before)).toMatchObject([{ msg: 'operator.called', operator: name, procedure }])
    },
  )
})

it('failed authentication is limited by address, summarised in the log and counted; a valid token passes', async () => {
  const ask = (token: string) => system.call('/operator/overview', { headers: { authorization: `Bearer ${token}` } })
  const answers = [await ask(tokens.ended)]
  for (let n = 0; n < 7; n += 1) answers.push(await ask('canary-of-a-guess'))
  expect(answers.map(({ status }) => status)).toEqual([...Array(5).fill(401), ...Array(3).fill(429)])
  expect(Number(answers.at(-1)?.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await ask(tokens.reader)).status).toBe(200)
  const of = (msg: string, members: object) =>
    system.gateway.logs.filter(
      (line) => line.msg === msg && Object.entries(members).every(([name, value]) => line[name] === value),
    )
  expect(of('operator.called', { status: 401 })).toMatchObject([
    { reason: 'expired', principal: 'ended', address: '127.0.0.1' },
    ...Array(4).fill({ reason: 'unknown', address: '127.0.0.1' }),
  ])
  const summarised = () =>
    of('authentication.failing', { api: 'operator' }).reduce((sum, line) => sum + Number(line.times), 0)
  await expect.poll(summarised).toBe(3)
  const { body } = await system.call('/metrics')
  expect(body).toContain('oncehook_authentication_failures_total{api="operator",reason="expired"} 1')
  expect(body).toContain('oncehook_authentication_failures_total{api="operator",reason="unknown"} 7')
  expect(JSON.stringify(system.gateway.logs)).not.toContain('canary-of-a-guess')
})
