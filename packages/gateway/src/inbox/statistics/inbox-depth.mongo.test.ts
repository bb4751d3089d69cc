import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { makeDueAgain, requeueDead } from '@oncehook/queue/transitions'
import { ObjectId } from 'mongodb'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { openInbox } from '../../testing/open-inbox.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import { oldestUnsettledSeconds, readInboxDepth } from './inbox-depth.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const open = stack.use(await openInbox(database))
beforeEach(() => open.events.deleteMany())

describe('readInboxDepth', () => {
  it('counts unsettled and dead events, and shows the age of each provider’s oldest', async () => {
    const states = { a: 'pending', b: 'pending', c: 'processing', d: 'dead', e: 'done', f: 'processing' } as const
    const ages = { a: 100, b: 50, c: 200, d: 900, e: 900, f: 10 }
    for (const [id, state] of Object.entries(states)) {
      const provider = id === 'b' || id === 'f' ? 'shop' : 'acme'
      const receivedAt = new Date(Date.now() - ages[id as keyof typeof ages] * 1_000)
      await open.events.insertOne(sampleRecord({ eventId: id, provider, state, receivedAt }))
    }
    const depth = await readInboxDepth(open.db)
    expect(depth).toMatchObject({ pending: 2, processing: 2, dead: 1 })
    const seconds = (provider: string): number => Math.floor((depth.oldest?.get(provider) ?? 0) / 10) * 10
    expect([seconds('acme'), seconds('shop')]).toEqual([200, 50])
    expect(oldestUnsettledSeconds(depth, new Set())).toBe(depth.oldest?.get('acme'))
  })

  it('counts what a replay or a redelivery made due again from then on, and what waits behind it from its storing', async () => {
    const ago = (seconds: number): Date => new Date(Date.now() - seconds * 1_000)
    const age = async (): Promise<number> => {
      const { oldest } = await readInboxDepth(open.db)
      return Math.floor((oldest?.get('again') ?? -1) / 1_000)
    }
    const store = async (eventId: string, seconds: number): Promise<void> => {
      await open.events.insertOne(sampleRecord({ eventId, provider: 'again', receivedAt: ago(seconds) }))
    }
    await store('replayed', 900_000)
    await store('redelivered', 800_000)
    await store('waits', 5_000)
    const replay = { id: new ObjectId(), by: 'alice', reason: 'a test' }
    await open.events.updateOne({ eventId: 'replayed' }, makeDueAgain(replay, {}))
    await open.events.updateOne({ eventId: 'redelivered' }, { $set: { state: 'dead' } })
    await open.events.updateOne({ eventId: 'redelivered' }, [requeueDead({}, 8)])
    expect([await open.record('replayed'), await open.record('redelivered')].map(({ state }) => state)).toEqual([
      'pending',
      'pending',
    ])
    expect(await age()).toBe(0)
    await open.events.updateOne({ eventId: 'waits' }, { $set: { state: 'pending' } })
    expect(await age()).toBe(5)
    await open.events.updateOne({ eventId: 'redelivered' }, { $set: { again: { at: ago(7_000) } } })
    expect(await age()).toBe(7)
    await open.events.updateOne({ eventId: 'replayed' }, { $set: { state: 'processing', again: { at: ago(9_000) } } })
    expect(await age()).toBe(9)
  })

  it('leaves out tasks of handlers that are paused or removed, and shows what waits behind them', async () => {
    const ago = (seconds: number): Date => new Date(Date.now() - seconds * 1_000)
    const store = (seconds: number, handler: string, members: object = {}) => {
      const receivedAt = ago(seconds)
      return sampleRecord({ provider: 'split', state: 'pending', handler, receivedAt, ...members })
    }
    const removed = [store(9_000, 'removed'), store(8_000, 'removed', { again: { at: ago(7_000) } })]
    await open.events.insertMany([
      ...removed,
      store(6_000, 'removed', { state: 'processing', claim: 'of another process' }),
    ])
    const age = async (...sent: readonly string[]): Promise<number> => {
      const { oldest } = await readInboxDepth(open.db, ['fulfilment', ...sent])
      return Math.floor((oldest?.get('split') ?? -1_000) / 1_000)
    }
    expect(await age('kept')).toBe(-1)
    expect(await age('removed')).toBe(9)
    await open.events.insertMany([store(3_000, 'kept'), store(5_000, 'kept', { again: { at: ago(2_000) } })])
    expect(await age('kept')).toBe(3)
    expect(await age()).toBe(-1)
    await open.events.insertOne(store(4_000, 'kept', { state: 'processing', claim: 'of another process' }))
    expect(await age('kept')).toBe(4)
  })
})
