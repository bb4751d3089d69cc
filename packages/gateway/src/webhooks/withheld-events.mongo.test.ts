import { hash } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { PROVIDERS, paymentEvent, startOperatedSystem } from '../testing/start-operated-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(await startOperatedSystem(database))
const { acme, shop } = PROVIDERS
const until = { done: 'done', dead: 'dead', unhandled: 'unhandled' } as const

async function metric(name: string): Promise<string> {
  const { body } = await system.call('/metrics')
  return body
    .split('\n')
    .filter((line) => line.startsWith(name))
    .join('\n')
}

/** Writes the setting, and waits until the gateway has it. */
async function change(providers: Readonly<Record<string, unknown>>): Promise<void> {
  const changes = (): number => system.gateway.logs.filter(({ msg }) => msg === 'providers.changed').length
  const before = changes()
  await system.writeProviders(providers)
  await expect.poll(changes).toBe(before + 1)
}

describe('an event that its provider may not send', () => {
  it('has no effect when it is not of the live mode of Stripe', async () => {
    const orderId = await system.order()
    const id = 'evt_of_test_mode'
    expect(await system.deliver({ ...paymentEvent(id, { orderId }), livemode: false })).toBe(200)
    expect(await system.record(id)).toMatchObject({ state: 'unhandled', reason: 'not_expected', starts: 0 })
    await expect.poll(() => metric('oncehook_events_withheld_total')).toContain('provider="acme",reason="not_expected"')
    const logged = system.gateway.logs.find((line) => line.msg === 'event.withheld' && line.eventId === id)
    expect(logged).toMatchObject({ provider: 'acme', reason: 'not_expected' })
  })

  it('stays without effect at a replay, and has it once the settings allow it', async () => {
    const orderId = await system.order()
    await system.deliver({ ...paymentEvent('evt_test', { orderId }), livemode: false })
    const replay = async (): Promise<void> => {
      const { _id } = await system.record('evt_test')
      await system.operator().events.replay.mutate({ ids: [String(_id)], reason: 'the account was checked' })
    }
    await replay()
    const again = await system.until('evt_test', ({ replays = [] }) => replays.length === 1)
    expect(again).toMatchObject({ state: 'unhandled', reason: 'not_expected' })
    await change({ acme: { ...acme, testMode: true }, shop })
    await replay()
    await system.until('evt_test', ({ state }) => state === until.done)
    await change(PROVIDERS)
  })

  it('has no effect when the effect is not allowed, and its other effects are not touched', async () => {
    await change({ acme: { ...acme, effects: ['payment.failed'] }, shop })
    const orderId = await system.order()
    expect(await system.deliver(paymentEvent('evt_paid', { orderId }))).toBe(200)
    expect(await system.deliver(paymentEvent('evt_failed', { orderId }, 'payment.failed'))).toBe(200)
    expect(await system.record('evt_paid')).toMatchObject({ state: 'unhandled', reason: 'effect_not_allowed' })
    await system.until('evt_failed', ({ state }) => state === until.done)
    await change(PROVIDERS)
  })
})

describe('an authentic delivery that nobody can read', () => {
  it.each([
    ['no JSON', '{"id":'],
    ['no type', '{"id":"evt_untyped","livemode":true,"data":{"object":{"id":"pi_1"}}}'],
    [
      'a payment without its id',
      '{"id":"evt_x","type":"payment_intent.succeeded","livemode":true,"data":{"object":{}}}',
    ],
  ])('is kept, shown and counted: %s', async (_, text) => {
    expect(await system.deliver(text)).toBe(200)
    expect(await system.deliver(text)).toBe(200)
    const { items } = await system.operator().events.list.query({ state: 'unhandled', reason: 'unreadable' })
    const eventId = `sha256:${hash('sha256', text, 'base64url')}`
    expect(items.filter((item) => item.eventId === eventId)).toEqual([
      expect.objectContaining({ type: 'unreadable', reason: 'unreadable', objectId: '', orderId: '' }),
    ])
    await expect.poll(() => metric('oncehook_events_withheld_total')).toContain('provider="acme",reason="unreadable"')
    const logged = system.gateway.logs.filter(
      (line) => line.msg === 'event.withheld' && line.eventId === eventId.slice(0, 64),
    )
    expect(logged).toMatchObject([{ provider: 'acme', reason: 'unreadable' }])
  })

  it('is read again by a replay, under the id that the event has now', async () => {
    await change({ acme: { ...acme, events: { 'plan.paid': 'payment.succeeded' } }, shop })
    const text = JSON.stringify({ id: 'evt_later', type: 'plan.paid', livemode: true, data: { object: { name: 'x' } } })
    expect(await system.deliver(text)).toBe(200)
    const { _id } = await system.record(`sha256:${hash('sha256', text, 'base64url')}`)
    await change(PROVIDERS)
    await system.operator().events.replay.mutate({ ids: [String(_id)], reason: 'the mapping was wrong' })
    const replayed = { eventId: 'evt_later', type: 'plan.paid', state: 'unhandled', reason: 'type_unhandled' }
    await expect.poll(() => system.events.findOne({ _id })).toMatchObject(replayed)
    expect(await system.deliver(text)).toBe(200)
    expect(await system.events.countDocuments({ type: 'plan.paid' })).toBe(1)
  })
})

describe('a success without an amount', () => {
  it.each([
    ['amount', { amount: undefined }],
    ['currency', { currency: undefined }],
  ])('is dead where its provider always names one: no %s', async (missing, object) => {
    const orderId = await system.order()
    const id = `evt_without_${missing}`
    expect(await system.deliver(paymentEvent(id, { orderId, ...object }))).toBe(200)
    const { reason } = await system.until(id, ({ state }) => state === until.dead)
    expect(reason).toBe('amount_missing')
  })

  it('counts if no amount is required; a failure needs none', async () => {
    const [one, other] = [await system.order(), await system.order()]
    const without = { amount: undefined, currency: undefined }
    await system.deliver(paymentEvent('evt_any', { orderId: one, ...without }), { provider: 'shop' })
    await system.deliver(paymentEvent('evt_refused', { orderId: other, ...without }, 'payment.failed'))
    await system.until('evt_any', ({ state }) => state === until.done)
    await system.until('evt_refused', ({ state }) => state === until.done)
  })
})
