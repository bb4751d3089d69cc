import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { describe, expect, it } from 'vitest'
import {
  copyInLine,
  dead,
  HANDLER,
  later,
  openLines,
  REPLAY,
  replayTask,
  settleAll,
  settleExactly,
} from '../../testing/handlers/open-lines.ts'
import { changeRecord, endLeases, idsOf, steadyClaims } from '../../testing/open-fresh-inbox.ts'
import { EVENT_INDEXES } from '../event-document.ts'
import { close } from '../transitions.ts'
import { LINE_INDEX, OPEN_LINE_INDEX } from './line-indexes.ts'

describe('tasks of a line', () => {
  it('are claimed one after the other, in the order in which they were stored', async () => {
    await using system = await openLines(process.env)
    const claims = system.claims('one')
    await system.store('a-1', 'a-2', 'b-1', 'a-3')
    expect(system.expected()).toBe(4)
    const first = await claims.claimDue(10)
    expect(idsOf(first)).toEqual(['a-1', 'b-1'])
    expect(await claims.claimDue(10)).toEqual([])
    await settleAll(claims, first)
    await settleExactly(claims, await claims.claimDue(10), ['a-2'])
    expect(idsOf(await claims.claimDue(10))).toEqual(['a-3'])
  })

  it('keep the order in which they were stored by several gateways, whatever their clocks say', async () => {
    await using system = await openLines(process.env)
    await using ahead = await system.another({ now: () => Date.now() + 3_600_000 })
    await system.storeBy(ahead, 'a-1')
    await system.store('a-2')
    await system.storeBy(ahead, 'a-3')
    const claims = system.claims('one')
    for (const id of ['a-1', 'a-2', 'a-3']) {
      await settleExactly(claims, await claims.claimDue(10), [id])
    }
  })

  it('wait for one that is tried again later', async () => {
    await using system = await openLines(process.env)
    const claims = system.claims('one')
    await system.store('a-1', 'a-2')
    await settleAll(claims, await claims.claimDue(10), later)
    expect(await claims.claimDue(10)).toEqual([])
    await changeRecord(system.open, 'a-1', { $set: { dueAt: '$$NOW' } })
    expect(idsOf(await claims.claimDue(10))).toEqual(['a-1'])
  })

  it('do not wait for a dead one, unless the handler asks for it', async () => {
    await using system = await openLines(process.env)
    const claims = system.claims('one')
    const strict = system.claims('two', true)
    await system.store('a-1', 'a-2')
    await settleAll(strict, await strict.claimDue(10), dead)
    expect(await strict.claimDue(10)).toEqual([])
    await strict.takeOver(10)
    expect(await strict.claimDue(10)).toEqual([])
    await claims.takeOver(10)
    expect(idsOf(await claims.claimDue(10))).toEqual(['a-2'])
  })

  it('are free again after an operator has closed the dead one that blocked them', async () => {
    await using system = await openLines(process.env)
    const claims = system.claims('one', true)
    await system.store('a-1', 'a-2')
    await settleAll(claims, await claims.claimDue(10), dead)
    expect(await claims.claimDue(10)).toEqual([])
    const retention = { retentionMs: 1_000_000, bodyRetentionMs: 1_000_000 }
    await system.open.events.updateOne({ eventId: 'a-1' }, close({ ...REPLAY, retention }))
    await claims.takeOver(10)
    expect(idsOf(await claims.claimDue(10))).toEqual(['a-2'])
  })

  it('let a replayed one go first, and wait for it', async () => {
    await using system = await openLines(process.env)
    const claims = system.claims('one')
    await system.store('a-1', 'a-2', 'a-3')
    await settleAll(claims, await claims.claimDue(10), dead)
    const [running] = await claims.claimDue(10)
    await replayTask(system.open, 'a-1')
    expect(await claims.claimDue(10), 'while another one of the line is processed').toEqual([])
    await settleAll(claims, [running!])
    await settleExactly(claims, await claims.claimDue(10), ['a-1'])
    expect(idsOf(await claims.claimDue(10))).toEqual(['a-3'])
  })

  it('wait for one whose process has died, and it is taken over first', async () => {
    await using system = await openLines(process.env)
    const other = system.claims('dead')
    await other.beat()
    await system.store('a-1', 'a-2')
    expect(idsOf(await other.claimDue(10))).toEqual(['a-1'])
    const claims = await steadyClaims(system.open, {
      owner: 'alive',
      handler: HANDLER,
      ordering: { blockOnDead: false },
    })
    await endLeases(system.open)
    await claims.beat()
    expect(await claims.claimDue(10)).toEqual([])
    await settleExactly(claims, (await claims.takeOver(10)).taken, ['a-1'])
    expect(idsOf(await claims.claimDue(10))).toEqual(['a-2'])
  })

  it('are found by any process if the one that settled the first died before it looked for the next', async () => {
    await using system = await openLines(process.env)
    const claims = system.claims('one')
    await system.store('a-1', 'a-2', 'b-1', 'b-2')
    expect(await claims.claimDue(10)).toHaveLength(2)
    expect(await claims.claimDue(10)).toEqual([])
    await system.open.events.updateOne({ eventId: 'a-1' }, { $set: { state: 'done' }, $unset: { leaseOwner: 1 } })
    expect(await claims.claimDue(10)).toEqual([])
    await system.claims('another').takeOver(10)
    expect(idsOf(await claims.claimDue(10))).toEqual(['a-2'])
  })

  it('are found sweep by sweep, however many wait, and a sweep that fails prevents no takeover', async () => {
    await using system = await openLines(process.env)
    const claims = system.claims('one')
    await claims.beat()
    await system.store('a-0', 'b-1')
    await copyInLine(system.open, 'a-0', 1_200)
    const held = await claims.claimDue(1)
    expect(idsOf(held)).toEqual(['a-0'])
    await expect.poll(async () => idsOf(await claims.claimDue(10))).toEqual(['b-1'])
    // The process that settled it died before it looked for the next one. Tasks of other lines have been waiting for longer.
    await system.open.events.updateOne({ eventId: 'a-0' }, { $set: { state: 'done' }, $unset: { leaseOwner: 1 } })
    const ordering = { blockOnDead: false }
    const another = await steadyClaims(system.open, { owner: 'another', handler: HANDLER, ordering })
    for (let sweep = 0; sweep < 4; sweep += 1) await another.takeOver(10)
    expect(await another.claimDue(10)).toHaveLength(1)
    const third = await steadyClaims(system.open, { owner: 'third', handler: HANDLER, ordering })
    await endLeases(system.open)
    for (const name of [LINE_INDEX, OPEN_LINE_INDEX]) await system.open.events.dropIndex(name)
    await third.beat()
    const { taken } = await third.takeOver(10)
    expect(idsOf(taken)).toContain('b-1')
  })

  it('keep their outcome if the look at the line fails, which is reported, and are found by a sweep', async () => {
    await using system = await openLines(process.env)
    const errors: unknown[] = []
    const deps = { owner: 'one', handler: HANDLER, ordering: { blockOnDead: false } }
    const claims = system.open.claims({ ...deps, onLineFailed: (error) => errors.push(error) })
    await system.store('a-1', 'a-2')
    const held = await claims.claimDue(1)
    expect(await claims.claimDue(1)).toEqual([])
    {
      const failing = { commands: ['aggregate'], appName: system.open.appName, how: { errorCode: 50 } }
      await using _ = await armFailPoint(system.uri, failing)
      await settleAll(claims, held)
    }
    expect(errors).toMatchObject([{ code: 50 }])
    expect((await system.open.record('a-1')).state).toBe('done')
    expect(await claims.claimDue(1)).toEqual([])
    await claims.takeOver(1)
    expect(idsOf(await claims.claimDue(1))).toEqual(['a-2'])
  })

  it('keep their line without the setting, so that its removal neither loses nor reorders them', async () => {
    await using system = await openLines(process.env)
    await system.store('a-1', 'a-2')
    const claims = system.open.claims({ owner: 'one', handler: HANDLER })
    const first = await claims.claimDue(10)
    expect(idsOf(first)).toEqual(['a-1'])
    expect(await claims.claimDue(10)).toEqual([])
    await system.open.events.updateOne({ eventId: 'a-1' }, { $set: { state: 'done' }, $unset: { leaseOwner: 1 } })
    const restarted = system.open.claims({ owner: 'two', handler: HANDLER })
    await restarted.takeOver(10)
    expect(idsOf(await restarted.claimDue(10))).toEqual(['a-2'])
  })

  it('hold up no other line, however many wait', async () => {
    await using system = await openLines(process.env)
    await system.store('a-0')
    await copyInLine(system.open, 'a-0', 3_000)
    await system.store('b-1')
    const claims = system.claims('one')
    const held = await claims.claimDue(10)
    expect(idsOf(held)).toEqual(['a-0'])
    const other = await claims.claimDue(10)
    expect(idsOf(other)).toEqual(['b-1'])
    await settleAll(claims, [...held, ...other])
    expect(await claims.claimDue(10)).toHaveLength(1)
    const looks = system.open.commands.length
    expect(await claims.claimDue(10)).toEqual([])
    expect(system.open.commands.length - looks, 'nothing is looked at again').toBeLessThan(5)
  })
})

describe('several processes', () => {
  it('never process two tasks of a line at the same time or in another order, whatever they do at once', async () => {
    await using system = await openLines(process.env)
    const lines = Array.from({ length: 6 }, (_, index) => `line${index}`)
    const tasks = Array.from({ length: 8 }, (_, index) => lines.map((line) => `${line}-${index}`)).flat()
    const storing = system.store(...tasks)
    const begun: string[] = []
    const running = new Set<string>()
    const work = async (owner: string): Promise<void> => {
      const claims = system.claims(owner)
      // Without a lease, the others would take over what it holds.
      await claims.beat()
      for (let round = 0; begun.length < tasks.length; round += 1) {
        const held = await claims.claimDue(4)
        for (const { event, line = '' } of held) {
          expect(running, `${event.id} beside another`).not.toContain(line)
          running.add(line)
          begun.push(event.id)
        }
        for (const { line = '' } of held) running.delete(line)
        await settleAll(claims, held)
        if (round % 5 === 0) await claims.takeOver(4)
      }
    }
    await Promise.all([storing, ...['one', 'two', 'three'].map(work)])
    for (const line of lines) {
      const own = begun.filter((id) => id.startsWith(`${line}-`))
      expect(own).toEqual(own.toSorted())
      expect(own).toHaveLength(8)
    }
  })
})

describe('the indexes of a collection with tasks', () => {
  it('let one task of a line be processed, and are made again if an operator has dropped them', async () => {
    await using system = await openLines(process.env)
    const { db, events } = system.open
    await events.dropIndex('line_held')
    await ensureIndexes(db, [EVENT_INDEXES])
    await system.store('a-1', 'a-2')
    const claim = (eventId: string) => events.updateOne({ eventId }, { $set: { state: 'processing' } })
    await claim('a-1')
    await expect(claim('a-2')).rejects.toMatchObject({ code: 11_000 })
  })
})
