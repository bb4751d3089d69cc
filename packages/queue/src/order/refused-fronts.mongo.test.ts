import { describe, expect, it } from 'vitest'
import type { Claim } from '../claim/claim.ts'
import type { Claims } from '../claim/claims.ts'
import { dead, later, type OpenLines, openLines, replayTask, settleAll } from '../testing/open-lines.ts'
import { changeRecord, idsOf } from '../testing/open-queue.ts'

interface Behind {
  /** The process that holds the later tasks. It is alive until the test ends its claims. */
  readonly holder: Claims
  readonly held: readonly Claim[]
}

/** Lines whose first task was dead and is replayed, while another process holds the second one. */
async function replayBeforeHeld(system: OpenLines, lines: readonly string[]): Promise<Behind> {
  const holder = system.claims()
  await system.store(...lines.map((line) => `${line}-1`))
  await settleAll(holder, await holder.claimDue(100), dead)
  await system.store(...lines.map((line) => `${line}-2`))
  const held = await holder.claimDue(100)
  expect(idsOf(held)).toEqual(lines.map((line) => `${line}-2`))
  for (const line of lines) await replayTask(system.open, `${line}-1`)
  return { holder, held }
}

/** A task of another line that is tried again, and became due after the replay. */
async function storeRetry({ open, store }: OpenLines, id: string): Promise<void> {
  await store(id)
  await changeRecord(open, id, { $set: { dueAt: '$$NOW' } })
}

describe('replayed tasks whose lines have a later one that another process holds', () => {
  it.each([1, 3])('do not hold up retries of other lines, with %d claimed at once', async (limit) => {
    await using system = await openLines(process.env)
    const lines = Array.from({ length: 5 }, (_, index) => `line${index}`)
    await replayBeforeHeld(system, lines)
    await storeRetry(system, 'z-1')
    const claims = system.claims()
    expect(idsOf(await claims.claimDue(limit))).toEqual(['z-1'])
  })

  it.each([
    ['is done', undefined],
    ['is dead', dead],
    ['is tried again later', later],
  ])('are due as soon as the held one %s', async (_, settlement) => {
    await using system = await openLines(process.env)
    const { holder, held } = await replayBeforeHeld(system, ['a'])
    const claims = system.claims()
    expect(await claims.claimDue(10)).toEqual([])
    await settleAll(holder, held, settlement)
    expect(idsOf(await claims.claimDue(10))).toEqual(['a-1'])
  })
})
