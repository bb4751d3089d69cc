import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { createAudit } from './audit.ts'
import { createReplays } from './replays.ts'

describe('record', () => {
  it('fails when the entry was not stored', async () => {
    await using database = await testDatabase(process.env)
    const audit = createAudit(database.db)
    await database.db.createCollection('audit', { validator: { by: { $ne: 'mallory' } } })
    const entry = { action: 'events.replay', reason: 'a test', details: {} } as const
    await audit.record({ ...entry, by: 'alice' })
    await expect(audit.record({ ...entry, by: 'mallory' })).rejects.toMatchObject({ code: 121 })
    expect(await audit.list({ limit: 10 })).toMatchObject([{ by: 'alice' }])
  })
})

describe('a replay', () => {
  it('fails when it was not stored', async () => {
    await using database = await testDatabase(process.env)
    await database.db.createCollection('replays', { validator: { by: { $ne: 'mallory' } } })
    const replays = createReplays(database.db)
    const request = { by: 'mallory', reason: 'a test', target: { filter: {} }, ratePerSecond: null, includeDone: false }
    await expect(replays.start(new ObjectId(), request, 0)).rejects.toMatchObject({ code: 121 })
  })
})
