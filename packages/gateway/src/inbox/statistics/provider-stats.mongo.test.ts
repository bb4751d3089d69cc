import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { createProviderStats, PROVIDER_STATS, type ProviderCounter, type ProviderStats } from './provider-stats.ts'

const HOUR_MS = 3_600_000
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const stored = database.db.collection<ProviderCounter>(PROVIDER_STATS)

function open(flushMs = HOUR_MS): ProviderStats {
  return createProviderStats(database.db, memoryLogger().logger, flushMs)
}

describe('createProviderStats', () => {
  it('adds up the counts of several processes, by provider, kind and name', async () => {
    const processes = [open(), open(), open()]
    for (const stats of processes) {
      for (let times = 0; times < 5; times += 1) stats.add('acme', 'delivery', 'recorded')
      stats.add('acme', 'secret', 'recorded')
      stats.add('shop', 'delivery', 'recorded')
    }
    await Promise.all(processes.map((stats) => stats.stop()))
    const found = await stored.find({ '_id.name': 'recorded' }, { sort: { _id: 1 } }).toArray()
    const times = { lastAt: expect.any(Date), longestGapMs: expect.any(Number), gapsSince: expect.any(Date) }
    expect(found).toEqual([
      { _id: { provider: 'acme', kind: 'delivery', name: 'recorded' }, count: 15, ...times },
      { _id: { provider: 'acme', kind: 'secret', name: 'recorded' }, count: 3, ...times },
      { _id: { provider: 'shop', kind: 'delivery', name: 'recorded' }, count: 3, ...times },
    ])
  })

  it('keeps the longest time between two writes, which halves every week', async () => {
    const DAY_MS = 24 * HOUR_MS
    const name = 'with gaps'
    const write = async (daysAgo: number, longestGapMs: number): Promise<number> => {
      const lastAt = new Date(Date.now() - daysAgo * DAY_MS)
      await stored.deleteMany({ '_id.name': name })
      await stored.insertOne({
        _id: { provider: 'acme', kind: 'delivery', name },
        count: 1,
        lastAt,
        longestGapMs,
        gapsSince: lastAt,
      })
      const stats = open()
      stats.add('acme', 'delivery', name)
      await stats.stop()
      const written = await stored.findOne({ '_id.name': name })
      expect(written).toMatchObject({ count: 2, gapsSince: lastAt })
      return (written?.longestGapMs ?? 0) / DAY_MS
    }
    expect(await write(3, 0)).toBeCloseTo(3, 1)
    expect(await write(3, DAY_MS)).toBeCloseTo(3, 1)
    expect(await write(7, 20 * DAY_MS)).toBeCloseTo(10, 1)
  })
})
