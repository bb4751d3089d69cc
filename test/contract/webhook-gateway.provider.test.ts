import { hash } from 'node:crypto'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { contractsOf, readPact } from './pact-files.ts'
import { bodyOf, deliver, providersOf, verifySender } from './verify-sender.ts'
import { isPreset, MAX_BYTES, SENDERS, type WebhookSender } from './webhook-senders.ts'

const CONTRACTS = contractsOf('gateway')
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const gateway = stack.use(await startGateway({ database, providers: providersOf(SENDERS) }))
const events = database.db.collection('events')

describe('the gateway', () => {
  it('has a contract with every kind of sender', async () => {
    const pacts = await Promise.all(CONTRACTS.map(({ file }) => readPact(file)))
    const consumers = new Set(pacts.map(({ consumer }) => consumer.name))
    expect([...consumers].toSorted()).toEqual(SENDERS.map(({ name }) => name).toSorted())
  })

  it.each(CONTRACTS)('answers as $name says', async (contract) => {
    const { consumer, interactions } = await readPact(contract.file)
    const sender = SENDERS.find(({ name }) => name === consumer.name) ?? expect.unreachable()
    await verifySender(contract, sender, { url: gateway.url, db: database.db })
    const accepted = interactions.filter(({ response }) => response?.status === 200)
    expect(await events.distinct('eventId', { provider: sender.name })).toHaveLength(accepted.length)
    expect(await events.countDocuments({ provider: sender.name })).toBe(accepted.length)
    // An answer does not show whether a delivery was understood.
    const ofPayments = accepted.filter(({ description }) => !/changes no order|is no event/.test(description))
    const hasFailed = ({ description }: { readonly description: string }) => description.endsWith('payment that failed')
    const types = ofPayments.map((one) => (hasFailed(one) ? 'payment.failed' : 'payment.succeeded'))
    const stored = await events.find({ provider: sender.name, type: { $in: types } }).toArray()
    const who = `payments that the gateway reads from the consumer ${sender.name}`
    expect(stored.map(({ type }) => type).toSorted(), who).toEqual(types.toSorted())
    const isPriced = sender.name !== 'github'
    const facts = isPriced ? { amount: 1999, currency: 'EUR' } : {}
    for (const { orderId, objectId, facts: read } of stored) {
      expect(orderId, `${who}: the order`).toMatch(/^ord_evt_/)
      expect(objectId, `${who}: the payment of ${orderId}`).toBe(orderId.replace('ord_', 'pay_'))
      expect(read, `${who}: the amount of ${orderId}`).toMatchObject(facts)
    }
  })

  // No contract can contain a body that is not JSON.
  it.each(SENDERS)('keeps an authentic body that is no JSON only of a preset: $name', async (sender) => {
    const body = Buffer.from('{"id":"evt_1",')
    const answer = await deliver(gateway.url, sender, { body })
    const expected = isPreset(sender) ? [200, { received: true }] : [400, { code: 'invalid_body' }]
    expect([answer.status, await answer.json()]).toMatchObject(expected)
    const kept = { provider: sender.name, eventId: `sha256:${hash('sha256', body, 'base64url')}` }
    expect((await events.deleteMany(kept)).deletedCount).toBe(isPreset(sender) ? 1 : 0)
  })

  // Pact adds a media type to every body.
  it.each(SENDERS)('takes a delivery without a media type: $name', async (sender) => {
    const body = bodyOf(sender, 'evt_bare', 'payment.succeeded')
    const answer = await deliver(gateway.url, sender, { body, mediaType: null })
    const who = `The gateway breaks what it owes to the consumer ${sender.name}: ${await answer.text()}`
    expect(answer.status, who).toBe(200)
    expect((await events.deleteMany({ provider: sender.name, orderId: 'ord_evt_bare' })).deletedCount).toBe(1)
  })

  it.each(SENDERS)('takes a delivery up to the limit of its provider, and not beyond: $name', async (sender) => {
    await expectLimit(gateway.url, sender, MAX_BYTES)
    await events.deleteMany({ provider: sender.name, orderId: 'ord_evt_whole' })
  })

  it('takes a delivery of 1 MiB of every sender, unless the settings say otherwise', async () => {
    await using fresh = await testDatabase(process.env)
    const providers = providersOf(SENDERS, {})
    await using gateway = await startGateway({ database: fresh, providers })
    for (const sender of SENDERS) await expectLimit(gateway.url, sender, 1_048_576)
  })

  // The verifier of Pact understands no other charset.
  it('refuses a delivery of every sender in another charset, but for presets, and one too many', async () => {
    await using limited = await testDatabase(process.env)
    // No new window begins during the test.
    const limits = { rateWindowSeconds: 86_400 }
    const settings = { RATE_LIMIT_PROVIDER: '1' }
    await using gateway = await startGateway({ database: limited, providers: providersOf(SENDERS), settings, limits })
    for (const sender of SENDERS) {
      const who = `The gateway breaks what it owes to the consumer ${sender.name} beside its contract`
      const body = bodyOf(sender, 'evt_many', 'payment.succeeded')
      const latin1 = await deliver(gateway.url, sender, { body, mediaType: 'application/json; charset=iso-8859-1' })
      const told = isPreset(sender) ? [200, null] : [415, 'application/json']
      expect([latin1.status, latin1.headers.get('accept')], who).toEqual(told)
      if (!isPreset(sender)) expect((await deliver(gateway.url, sender, { body })).status, who).toBe(200)
      const oneTooMany = await deliver(gateway.url, sender, { body })
      const retryAfter = expect.stringMatching(/^\d+$/)
      expect([oneTooMany.status, oneTooMany.headers.get('retry-after')], who).toEqual([429, retryAfter])
      const left = `;t=${oneTooMany.headers.get('retry-after')}`
      expect(oneTooMany.headers.get('ratelimit'), `${who}: seconds to wait`).toContain(left)
      expect(await oneTooMany.json(), who).toMatchObject({ code: 'rate_limited' })
    }
  })
})

async function expectLimit(url: string, sender: WebhookSender, limit: number): Promise<void> {
  const small = JSON.parse(bodyOf(sender, 'evt_whole', 'payment.succeeded').toString()) as object
  const padded = (padding: number) => Buffer.from(JSON.stringify({ ...small, padding: 'x'.repeat(padding) }))
  const whole = limit - padded(0).length
  const who = `The gateway breaks what it owes to the consumer ${sender.name} beside its contract: ${limit} bytes`
  const answers = [await deliver(url, sender, { body: padded(whole) })]
  answers.push(await deliver(url, sender, { body: padded(whole + 1) }))
  expect(
    answers.map(({ status }) => status),
    who,
  ).toEqual([200, 413])
}
