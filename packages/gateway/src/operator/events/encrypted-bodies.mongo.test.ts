import { randomUUID } from 'node:crypto'
import { refusalOf } from '@oncehook/fulfilment/testing/fulfilment-client'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { createTestKeysFile } from '@oncehook/kernel/testing/test-encryption'
import { EVENTS } from '@oncehook/queue/task'
import { afterAll, describe, expect, it } from 'vitest'
import type { EventDocument } from '../../inbox/event-document.ts'
import { DEAD_SOON, paymentEvent, startOperatedSystem } from '../../testing/start-operated-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const file = stack.use(await createTestKeysFile('first'))
const settings = { ENCRYPTION_KEYS_FILE: file.path, ...DEAD_SOON }
const system = stack.use(await startOperatedSystem(database, { settings }))
const { events } = system.operator()

/** Writes the file of keys, and waits until the gateway has seen the change. */
async function change(content: readonly string[] | string, line: 'changed' | 'refused' = 'changed'): Promise<void> {
  const seen = () => system.gateway.logs.filter(({ msg }) => msg === `encryption-keys.${line}`).length
  const before = seen()
  await file.write(content)
  await expect.poll(seen).toBe(before + 1)
}

/** Stores an encrypted event. A payment of a wrong amount is dead at once. */
async function store(state: 'done' | 'dead'): Promise<{ eventId: string; id: string; key: string | undefined }> {
  const eventId = randomUUID()
  const payment = { orderId: await system.order(), amount: state === 'done' ? 300 : 1 }
  expect(await system.deliver(paymentEvent(eventId, payment))).toBe(200)
  const { _id, sealed } = await system.until(eventId, (record) => record.state === state)
  expect(sealed).toBeDefined()
  return { eventId, id: String(_id), key: sealed?.key }
}

describe('an operator', () => {
  it('reads, checks and replays an encrypted event like any other', async () => {
    const { eventId, id } = await store('dead')
    const shown = await events.get.query({ id, body: true })
    expect(JSON.parse(Buffer.from(String(shown.raw), 'base64').toString())).toMatchObject({ id: eventId })
    expect(shown).toMatchObject({ notReadable: null, headers: { 'stripe-signature': expect.any(String) } })
    expect(await events.reverify.query({ id })).toEqual({ valid: true, secretId: 'newer', failure: null })
    await events.replay.mutate({ ids: [id], reason: 'a test' })
    const replayed = await system.until(eventId, ({ state, replays }) => state === 'dead' && replays?.length === 1)
    expect(replayed.replays?.[0]).not.toHaveProperty('notRead')
  })

  it('sees the rest of an event whose body was altered', async () => {
    const { eventId, id } = await store('dead')
    const other = await store('dead')
    const records = database.db.collection<EventDocument>(EVENTS)
    const stranger = await records.findOne({ eventId: other.eventId })
    if (stranger?.sealed === undefined) throw new Error('No encrypted event')
    await records.updateOne({ eventId }, { $set: { sealed: stranger.sealed } })
    const altered = { eventId, state: 'dead', notReadable: 'record_altered', headers: {}, raw: null }
    expect(await events.get.query({ id })).toMatchObject(altered)
    expect(await refusalOf(events.get.query({ id, body: true }))).toMatchObject({ reason: 'record_altered' })
  })

  it('gets the error that the key is unknown, and the event keeps its state until the key is back', async () => {
    const { eventId, id } = await store('dead')
    await change(['second'])
    expect(await refusalOf(events.get.query({ id, body: true }))).toMatchObject({
      reason: 'key_unknown',
      retry: 'later',
    })
    expect(await refusalOf(events.reverify.query({ id }))).toMatchObject({ reason: 'key_unknown' })
    const metrics = await (await fetch(`${system.gateway.adminUrl}/metrics`)).text()
    expect(metrics).toMatch(/^oncehook_unknown_encryption_keys_total 2$/m)
    const shown = await events.get.query({ id })
    expect(shown).toMatchObject({ eventId, state: 'dead', notReadable: 'key_unknown', headers: {}, raw: null })
    // The fields that were read at its receipt are not encrypted.
    await events.replay.mutate({ ids: [id], reason: 'a test' })
    const replayed = await system.until(eventId, ({ state, replays }) => state === 'dead' && replays?.length === 1)
    expect(replayed.replays?.[0]).toMatchObject({ notRead: 'key_unknown' })
    await change(['second', 'first'])
    expect((await events.get.query({ id, body: true })).bytes).toBeGreaterThan(0)
    expect((await store('done')).key).toBe('second')
  })
})
