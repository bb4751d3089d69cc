import { hash, randomBytes } from 'node:crypto'
import { refusalOf } from '@oncehook/fulfilment/testing/fulfilment-client'
import { canaryToken } from '@oncehook/kernel/testing/canary-token'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { TASK_STATES } from '@oncehook/queue/task'
import { Binary } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'
import type { EventDocument } from '../../inbox/event-document.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import { createOperatorClient, startOperatedSystem } from '../../testing/start-operated-system.ts'

const tokens = { auditor: canaryToken(), operator: canaryToken(), alice: canaryToken() }
const OPERATOR_TOKENS = JSON.stringify({
  alice: tokens.alice,
  auditor: { tokens: [{ value: tokens.auditor }], roles: ['bodies'] },
  operator: { tokens: [{ value: tokens.operator }], roles: ['operate'] },
})

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(await startOperatedSystem(database, { settings: { OPERATOR_TOKENS } }))
const clientOf = (name: keyof typeof tokens) => createOperatorClient(system.gateway.adminUrl, tokens[name])
const { events, audit } = clientOf('auditor')

const idsOf = (records: readonly EventDocument[]): string[] => records.map(({ _id }) => String(_id)).toReversed()

describe('a search for a text', () => {
  const text = `jane-${randomBytes(4).toString('hex')}@shop.example`
  const record = sampleRecord({ provider: 'searched', raw: new Binary(Buffer.from(`{"email":"${text}"}`)) })

  it('finds the event, shows nothing of its body, and is in the audit log, which does not have the text', async () => {
    await system.events.insertMany([record, sampleRecord({ provider: 'searched' })])
    const page = await events.list.query({ provider: 'searched', text })
    expect(page.items.map(({ id }) => id)).toEqual([String(record._id)])
    expect(page).toMatchObject({ next: null, cut: null, notReadable: 0 })
    expect(JSON.stringify(page)).not.toContain(text)
    const { items } = await audit.list.query()
    const details = { provider: 'searched', textHash: hash('sha256', text) }
    expect(items[0]).toMatchObject({ by: 'auditor', action: 'events.search-bodies', reason: null, details })
    expect(JSON.stringify([items, system.gateway.logs])).not.toContain(text)
    expect(await audit.verify.query()).toMatchObject({ ok: true })
  })

  it('needs the role for bodies', async () => {
    const before = await audit.list.query()
    const refusal = await refusalOf(clientOf('operator').events.list.query({ text }))
    expect(refusal).toMatchObject({ code: 'FORBIDDEN', reason: 'role_missing' })
    expect(await audit.list.query()).toEqual(before)
  })

  it('selects nothing for a replay', async () => {
    for (const filter of [{ text }, { about: 'ord_1' }] as object[]) {
      const refusal = await refusalOf(clientOf('alice').events.replay.mutate({ filter, reason: 'a test' }))
      expect(refusal).toMatchObject({ code: 'BAD_REQUEST' })
    }
  })

  it.each([[{ text: '' }], [{ text: 'x'.repeat(256) }], [{ text, about: 'ord_1' }]])('refuses %j', async (input) => {
    expect(await refusalOf(events.list.query(input))).toMatchObject({ code: 'BAD_REQUEST' })
  })
})

describe('a search for an id', () => {
  const provider = 'about'
  const ofOrder = TASK_STATES.map((state) => sampleRecord({ provider, state, orderId: 'ord_about' }))
  const ofPayment = [1, 2].map(() => sampleRecord({ provider, objectId: 'pi_about' }))
  const event = sampleRecord({ provider, eventId: 'evt_about', orderId: 'ord_other' })
  const namesake = sampleRecord({ provider: 'about-other', eventId: 'evt_about' })

  it.each([
    ['evt_about', {}, [event, namesake]],
    ['evt_about', { provider }, [event]],
    [String(event._id), {}, [event]],
    [String(event._id), { provider: 'about-other' }, []],
    ['ord_about', {}, ofOrder],
    ['ord_about', { state: 'dead' } as const, ofOrder.filter(({ state }) => state === 'dead')],
    ['pi_about', {}, ofPayment],
    ['of_nobody', {}, []],
  ])('finds %s of %j, whatever it is the id of', async (about, filter, expected) => {
    const all = [...ofOrder, ...ofPayment, event, namesake]
    await system.events.deleteMany({ provider: { $in: [provider, 'about-other'] } })
    await system.events.insertMany(all)
    const { items } = await events.list.query({ about, ...filter })
    expect(items.map(({ id }) => id)).toEqual(idsOf(all.filter((one) => expected.includes(one))))
  })

  it.each([[{ orderId: 'ord_1' }], [{ paymentId: 'pi_1' }], [{ eventId: 'evt_1' }]])(
    'refuses one together with %j',
    async (filter) => {
      expect(await refusalOf(events.list.query({ about: 'x', ...filter }))).toMatchObject({ code: 'BAD_REQUEST' })
    },
  )
})
