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

  it('to read is refused by every procedure that changes something', async () => {
    // Those of the sign-in and of sessions change nothing but the operator's own.
    const mutations = PROCEDURES.filter(([name, kind]) => kind === 'mutation' && !/^(?:signIn|sessions)\./.test(name))
    expect(mutations.map(([name]) => name)).toContain('erase')
    for (const [name, kind] of mutations) {
      expect({ name, answer: await callBare(name, kind, tokens.reader) }).toMatchObject({ name, answer: REFUSED })
    }
  })

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
