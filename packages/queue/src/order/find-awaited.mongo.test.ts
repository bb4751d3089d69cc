import { describe, expect, it } from 'vitest'
import { dead, openLines, settleAll } from '../testing/open-lines.ts'
import { findAwaited } from './find-lines.ts'

describe('findAwaited', () => {
  it('is the first open task of the line, and none for that one', async () => {
    await using system = await openLines(process.env)
    await system.store('a-1', 'a-2', 'a-3', 'b-1')
    const { db, events } = system.open
    const awaited = async (eventId: string, blockOnDead = false) => {
      const task = await events.findOne({ eventId })
      const found = task === null ? null : await findAwaited(db, task, blockOnDead)
      return found === null ? null : (await events.findOne({ _id: found }))?.eventId
    }
    expect(await Promise.all(['a-1', 'a-2', 'a-3', 'b-1'].map((id) => awaited(id)))).toEqual([null, 'a-1', 'a-1', null])
    const claims = system.claims(true)
    const claimed = await claims.claimDue(10)
    expect(await awaited('a-2'), 'while the first is processed').toBe('a-1')
    await settleAll(claims, claimed, dead)
    expect([await awaited('a-2'), await awaited('a-2', true)]).toEqual([null, 'a-1'])
    expect(await awaited('a-1', true), 'of a settled task').toBeNull()
  })
})
