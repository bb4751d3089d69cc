import { NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import type { Document } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { readTasks } from '../../handlers/calls/read-tasks.ts'
import { dead, HANDLER, openLines, replayTask, settleAll } from '../../testing/handlers/open-lines.ts'
import { filtersOf, namesRecords, openBehindMongos, slotsIn } from '../../testing/mongos/behind-mongos.ts'
import { idsOf } from '../../testing/open-fresh-inbox.ts'
import { EVENTS, PROCESSING_INDEX, TASK_DUE_INDEX } from '../event-document.ts'
import { LINE_HELD_INDEX, LINE_INDEX, OPEN_LINE_INDEX } from '../lines/line-indexes.ts'
import { slotOf } from './slot.ts'

// A line can have tasks on every shard. So a look for its first one goes to all of them, as searches for due tasks do.
const SEARCHED = [TASK_DUE_INDEX, PROCESSING_INDEX, LINE_INDEX, OPEN_LINE_INDEX, LINE_HELD_INDEX]

function isSearch(command: Document): boolean {
  const { find, aggregate, hint } = command
  return (find ?? aggregate) === EVENTS && SEARCHED.includes(hint) && !namesRecords(command)
}

describe('commands that name tasks', () => {
  it('name their slots behind a mongos, also while the tasks wait in lines', async () => {
    await using system = await openLines(process.env, openBehindMongos)
    const { open } = system
    const claims = system.claims('one')
    const ids = ['a-1', 'a-2', 'a-3', 'b-1']
    await system.store(...ids)
    const first = await claims.claimDue(10)
    expect(idsOf(first)).toEqual(['a-1', 'b-1'])
    const source = { db: open.db, isSharded: () => true, encryption: NO_ENCRYPTION }
    const read: string[] = []
    for await (const { claim } of readTasks(source, HANDLER, first)) read.push(claim.event.id)
    expect(read.toSorted()).toEqual(['a-1', 'b-1'])
    await settleAll(claims, first, dead)
    const second = await claims.claimDue(10)
    expect(idsOf(second)).toEqual(['a-2'])
    await replayTask(open, 'a-1')
    expect(await claims.claimDue(10), 'a later one is processed').toEqual([])
    await settleAll(claims, second)
    expect(idsOf(await claims.claimDue(10))).toEqual(['a-1'])
    await claims.takeOver(10)

    const commands = open.commands.map(({ command }) => command).filter((one) => filtersOf(one).length > 0)
    expect(commands.filter(isSearch).length).toBeGreaterThan(0)
    const own = new Set(ids.map((eventId) => slotOf({ provider: 'acme', eventId })))
    const filters = commands.filter((one) => !isSearch(one)).flatMap(filtersOf)
    const others = filters.filter((filter) => slotsIn(filter).some((slot) => !own.has(Number(slot))))
    expect(others).toEqual([])
  })
})
