import type { Document } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { copyInLine, dead, type OpenLines, openLines, settleAll } from '../testing/open-lines.ts'
import { idsOf } from '../testing/open-queue.ts'

/** What the server examined for each look at the first tasks of lines since a command. */
async function examinedSince({ open }: OpenLines, from: number): Promise<readonly Record<'keys' | 'docs', number>[]> {
  const looks = open.commands
    .slice(from)
    .filter(({ command }) => command.aggregate === 'events' && command.pipeline.at(-1)?.$group?._id === '$line')
  expect(looks.length).toBeGreaterThan(0)
  return Promise.all(
    looks.map(async ({ command: { aggregate, pipeline, hint } }) => {
      const explain = { aggregate, pipeline, hint, cursor: {} }
      const explained: Document = await open.db.command({ explain, verbosity: 'executionStats' })
      const json = JSON.stringify(explained)
      const numberOf = (name: string): number => Number(json.match(new RegExp(`"${name}":(\\d+)`))?.[1])
      return { keys: numberOf('totalKeysExamined'), docs: numberOf('totalDocsExamined') }
    }),
  )
}

/** Looks at the lines in all ways. */
async function lookAtLines(system: OpenLines, blockOnDead = false): Promise<number> {
  const from = system.open.commands.length
  const claims = system.claims(blockOnDead)
  const held = await claims.claimDue(10)
  await settleAll(claims, held)
  await claims.sweepLines()
  return from
}

/** Marks the first tasks of the line `a` as dead. */
async function killFirst({ open }: OpenLines, count: number, blocks: boolean): Promise<void> {
  const first = await open.events.find({ line: 'a' }).sort({ lineAt: 1, _id: 1 }).limit(count).toArray()
  const ids = first.map(({ _id }) => _id)
  const { modifiedCount } = await open.events.updateMany(
    { _id: { $in: ids } },
    { $set: { state: 'dead' }, ...(blocks ? {} : { $unset: { dueAt: 1 } }) },
  )
  expect(modifiedCount).toBe(count)
}

describe('a look at a line', () => {
  it.each([false, true])('costs one key, however many are dead, with blockOnDead %s', async (blockOnDead) => {
    await using system = await openLines(process.env)
    await system.store('a-0', 'b-0')
    await copyInLine(system.open, 'a-0', 2_000)
    await killFirst(system, 1_500, blockOnDead)
    for (const { keys, docs } of await examinedSince(system, await lookAtLines(system, blockOnDead))) {
      expect(keys).toBeLessThan(10)
      expect(docs).toBeLessThan(10)
    }
  })
})

it('tasks that died while the handler had blockOnDead are taken out of the way when it has it no more', async () => {
  await using system = await openLines(process.env)
  await system.store('a-1', 'a-2', 'a-3', 'b-1')
  const before = system.claims(true)
  await settleAll(before, await before.claimDue(10), dead)
  expect(await before.claimDue(10)).toEqual([])
  const now = system.claims(false)
  await now.sweepLines()
  expect(idsOf(await now.claimDue(10))).toEqual(['a-2'])
})
