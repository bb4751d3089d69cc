import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { describe, expect, it } from 'vitest'
import {
  copyInLine,
  dead,
  later,
  openLines,
  REPLAY,
  replayTask,
  settleAll,
  settleExactly,
} from '../testing/open-lines.ts'
import { changeRecord, endClaims, idsOf } from '../testing/open-queue.ts'
import { HANDLER } from '../testing/sample-task.ts'
import { close } from '../transitions.ts'

describe('tasks of a line', () => {
  it('are claimed one after the other, in the order in which they were stored', async () => {
    await using system = await openLines(process.env)
    const claims = system.claims()
    await system.store('a-1', 'a-2', 'b-1', 'a-3')
    const first = await claims.claimDue(10)
    expect(idsOf(first)).toEqual(['a-1', 'b-1'])
    expect(await claims.claimDue(10)).toEqual([])
    await settleAll(claims, first)
    await settleExactly(claims, await claims.claimDue(10), ['a-2'])
    expect(idsOf(await claims.claimDue(10))).toEqual(['a-3'])
  })

  it('keep the order in which they were stored by several processes, whatever their clocks say', async () => {
    await using system = await openLines(process.env)
    await system.store('a-1')
    await system.store('a-2')
    await system.storeBehind(60_000, 'a-3')
    const claims = system.claims()
    for (const id of ['a-1', 'a-2', 'a-3']) {
      await settleExactly(claims, await claims.claimDue(10), [id])
    }
  })

  it('wait for one that is tried again later', async () => {
    await using system = await openLines(process.env)
    const claims = system.claims()
    await system.store('a-1', 'a-2')
    await settleAll(claims, await claims.claimDue(10), later)
    expect(await claims.claimDue(10)).toEqual([])
    await changeRecord(system.open, 'a-1', { $set: { dueAt: '$$NOW' } })
    expect(idsOf(await claims.claimDue(10))).toEqual(['a-1'])
  })

  it('do not wait for a dead one, unless the handler asks for it', async () => {
    await using system = await openLines(process.env)
    const claims = system.claims()
    const strict = system.claims(true)
    await system.store('a-1', 'a-2')
    await settleAll(strict, await strict.claimDue(10), dead)
    expect(await strict.claimDue(10)).toEqual([])
    await strict.sweepLines()
    expect(await strict.claimDue(10)).toEqual([])
    await claims.sweepLines()
    expect(idsOf(await claims.claimDue(10))).toEqual(['a-2'])
  })

  it('are free again after an operator has closed the dead one that blocked them', async () => {
    await using system = await openLines(process.env)
    const claims = system.claims(true)
    await system.store('a-1', 'a-2')
    await settleAll(claims, await claims.claimDue(10), dead)
    expect(await claims.claimDue(10)).toEqual([])
    await system.open.events.updateOne({ eventId: 'a-1' }, close(REPLAY, {}))
    await claims.sweepLines()
    expect(idsOf(await claims.claimDue(10))).toEqual(['a-2'])
  })

  it('let a replayed one go first, and wait for it', async () => {
    await using system = await openLines(process.env)
    const claims = system.claims()
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
    const [other, claims] = [system.claims(), system.claims()]
    await system.store('a-1', 'a-2')
    expect(idsOf(await other.claimDue(10))).toEqual(['a-1'])
    expect(await claims.claimDue(10)).toEqual([])
    await endClaims(system.open)
    expect(await claims.claimDue(10), 'before it is taken over').toEqual([])
    await settleExactly(claims, (await claims.claimSuspects(null, 10)).claims, ['a-1'])
    expect(idsOf(await claims.claimDue(10))).toEqual(['a-2'])
  })

  it('keep their outcome if the look at the line fails, which is reported, and are found by a sweep', async () => {
    await using system = await openLines(process.env)
    const errors: unknown[] = []
    const deps = { handler: HANDLER, ordering: { blockOnDead: false } }
    const claims = system.open.claims({ ...deps, onLineFailed: (error) => errors.push(error) })
    await system.store('a-1', 'a-2')
    const held = await claims.claimDue(1)
    expect(await claims.claimDue(1)).toEqual([])
    {
      const failing = { commands: ['aggregate'], appName: system.open.appName, how: { errorCode: 50 } }
      await using _ = await armFailPoint(system.open.database.uri, failing)
      await settleAll(claims, held)
    }
    expect(errors).toMatchObject([{ code: 50 }])
    expect((await system.open.record('a-1')).state).toBe('done')
    expect(await claims.claimDue(1)).toEqual([])
    await claims.sweepLines()
    expect(idsOf(await claims.claimDue(1))).toEqual(['a-2'])
  })

  it('keep their line without the setting, so that its removal neither loses nor reorders them', async () => {
    await using system = await openLines(process.env)
    await system.store('a-1', 'a-2')
    const claims = system.open.claims({ handler: HANDLER })
    const first = await claims.claimDue(10)
    expect(idsOf(first)).toEqual(['a-1'])
    expect(await claims.claimDue(10)).toEqual([])
    await system.open.events.updateOne({ eventId: 'a-1' }, { $set: { state: 'done' }, $unset: { claim: 1, dueAt: 1 } })
    const restarted = system.open.claims({ handler: HANDLER })
    await restarted.sweepLines()
    expect(idsOf(await restarted.claimDue(10))).toEqual(['a-2'])
  })

  it('hold up no other line, however many wait', async () => {
    await using system = await openLines(process.env)
    await system.store('a-0')
    await copyInLine(system.open, 'a-0', 3_000)
    await system.store('b-1')
    const claims = system.claims()
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
    const work = async (): Promise<void> => {
      const claims = system.claims()
      for (let round = 0; begun.length < tasks.length; round += 1) {
        const held = await claims.claimDue(4)
        for (const { eventId, line = '' } of held) {
          expect(running, `${eventId} beside another`).not.toContain(line)
          running.add(line)
          begun.push(eventId)
        }
        for (const { line = '' } of held) running.delete(line)
        await settleAll(claims, held)
        if (round % 5 === 0) await claims.sweepLines()
      }
    }
    await Promise.all([storing, ...[work(), work(), work()]])
    for (const line of lines) {
      const own = begun.filter((id) => id.startsWith(`${line}-`))
      expect(own).toEqual(own.toSorted())
      expect(own).toHaveLength(8)
    }
  })
})
