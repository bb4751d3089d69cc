import { startProfile } from '@oncehook/kernel/testing/profile'
import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { advanceLine } from '../changes.ts'
import { EVENTS, IN_LINE_DUE_AT } from '../task.ts'
import { copyInLine, type OpenLines, openLines } from '../testing/open-lines.ts'
import { HANDLER } from '../testing/sample-task.ts'
import { findLines } from './find-lines.ts'

/** All tasks wait, as if processes had died before they looked at the lines. */
async function letAllWait({ open }: OpenLines): Promise<void> {
  await open.events.updateMany({}, { $set: { dueAt: IN_LINE_DUE_AT } })
}

/** Stores a task in each of `count` lines, and lets all of them wait. Resolves to the names of the lines, in order. */
async function storeForgotten({ open, store }: OpenLines, count: number): Promise<readonly string[]> {
  await store('line-0')
  const first = await open.record('line-0')
  const lines = Array.from({ length: count }, (_, index) => `line${String(index).padStart(4, '0')}`)
  await open.events.deleteMany({})
  const task = { ...first, dueAt: IN_LINE_DUE_AT }
  await open.events.insertMany(lines.map((line) => ({ ...task, _id: new ObjectId(), eventId: line, line })))
  return lines
}

async function waitingIn({ open }: OpenLines): Promise<string[]> {
  const waiting = await open.events.find({ dueAt: IN_LINE_DUE_AT }).sort({ line: 1, lineAt: 1 }).toArray()
  return waiting.map(({ eventId }) => eventId)
}

describe('a sweep', () => {
  it.each([false, true])(
    'costs some keys for each line, however many tasks wait, with blockOnDead %s',
    async (blockOnDead) => {
      await using system = await openLines(process.env)
      await system.store('a-0', 'b-0')
      await copyInLine(system.open, 'a-0', 2_000)
      await letAllWait(system)
      await using profile = await startProfile(system.open.db)
      await system.claims(blockOnDead).sweepLines()
      const examined = await profile.examined(EVENTS)
      expect(examined.length).toBeGreaterThan(0)
      for (const { plan, keys, documents } of examined) expect(Math.max(keys, documents), plan).toBeLessThan(10)
      const waiting = await waitingIn(system)
      expect(waiting).toHaveLength(2_000)
      expect(waiting).not.toContain('a-0')
      expect(waiting).not.toContain('b-0')
    },
  )

  it('passes each line once, in order', async () => {
    await using system = await openLines(process.env)
    const lines = await storeForgotten(system, 1_200)
    const found = await findLines({ db: system.open.db, handler: HANDLER }, '', false)
    expect(found).toEqual({ lines, last: null })
    const claims = system.claims()
    await using profile = await startProfile(system.open.db)
    for (let sweeps = 0; sweeps < 3; sweeps += 1) {
      if ((await waitingIn(system)).length > 0) await claims.sweepLines()
    }
    expect(await waitingIn(system)).toEqual([])
    const searches = (await profile.examined(EVENTS)).filter(({ plan }) => /SCAN.*line/.test(plan))
    expect(searches.reduce((sum, { keys }) => sum + keys, 0)).toBeLessThan(4 * lines.length)
  })
})

describe('advanceLine', () => {
  it('makes the first task due if nothing is before it, dead or processed', async () => {
    await using system = await openLines(process.env)
    const { db, events } = system.open
    await system.store('a-1', 'a-2', 'a-3')
    await letAllWait(system)
    const advance = () => advanceLine(db, { handler: HANDLER, line: 'a' })
    for (const state of ['dead', 'processing'] as const) {
      await events.updateOne({ eventId: 'a-1' }, { $set: { state } })
      await advance()
      expect(await waitingIn(system), state).toEqual(['a-1', 'a-2', 'a-3'])
    }
    await events.updateOne({ eventId: 'a-1' }, { $set: { state: 'closed' }, $unset: { dueAt: 1 } })
    await advance()
    expect(await waitingIn(system)).toEqual(['a-3'])
  })
})
