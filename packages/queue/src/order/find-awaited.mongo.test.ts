import { describe, expect, it } from 'vitest'
import { copyInLine, dead, openLines, settleAll } from '../testing/open-lines.ts'
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

  it('reads a limited number of keys, however long the line is', async () => {
    await using system = await openLines(process.env)
    await system.store('a-0', 'a-1')
    await copyInLine(system.open, 'a-0', 1_000)
    const { db, events, commands } = system.open
    const last = await events
      .find({ line: { $exists: true } })
      .sort({ lineAt: -1 })
      .limit(1)
      .next()
    const from = commands.length
    expect(await findAwaited(db, last!, false)).not.toBeNull()
    const [look, ...others] = commands.slice(from).filter(({ command }) => command.aggregate === 'events')
    expect(others).toEqual([])
    const { aggregate, pipeline, hint } = look!.command
    const explain = { aggregate, pipeline, hint, cursor: {} }
    const explained = JSON.stringify(await db.command({ explain, verbosity: 'executionStats' }))
    expect(Number(/"totalKeysExamined":(\d+)/.exec(explained)?.[1])).toBeLessThan(10)
  })
})
