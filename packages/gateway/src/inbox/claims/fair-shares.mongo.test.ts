import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import type { ClaimedInRound, ClaimingOptions, ClaimingRound } from '../../testing/claiming-process.ts'
import { openFreshInbox, storePending } from '../../testing/open-fresh-inbox.ts'

const SCRIPT = new URL('../../testing/claiming-process.ts', import.meta.url).pathname
const PROCESSES = 8
const BATCH = 5
const ROUNDS = 50

async function nextAnswer(child: ChildProcess): Promise<number> {
  const [{ claimed }] = (await once(child, 'message')) as [ClaimedInRound]
  return claimed
}

/** Lets all processes claim at the same time. Resolves to what each of them got. */
function claimOnce(children: readonly ChildProcess[], limit: number): Promise<number[]> {
  return Promise.all(
    children.map((child) => {
      child.send({ limit } satisfies ClaimingRound)
      return nextAnswer(child)
    }),
  )
}

describe('a backlog that eight processes share', () => {
  it('is claimed by all of them in fair shares, and each event once', async () => {
    await using open = await openFreshInbox(process.env)
    const ids = Array.from({ length: PROCESSES * BATCH * ROUNDS }, (_, index) => `e${index}`)
    await storePending(open, ids)
    const options: ClaimingOptions = { uri: open.database.uri.reveal(), database: open.database.name }
    await using resources = new AsyncDisposableStack()
    const children = Array.from({ length: PROCESSES }, () => {
      const child = fork(SCRIPT, [JSON.stringify(options)])
      resources.defer(async () => {
        const exited = once(child, 'exit')
        if (child.kill('SIGKILL')) await exited
      })
      return child
    })
    await Promise.all(children.map(nextAnswer))
    const shares = Array.from(children, () => 0)
    let latest: number[]
    do {
      latest = await claimOnce(children, BATCH)
      for (const [index, claimed] of latest.entries()) shares[index] = (shares[index] ?? 0) + claimed
    } while (latest.some((claimed) => claimed > 0))

    expect(shares.reduce((sum, share) => sum + share, 0)).toBe(ids.length)
    expect(await open.events.countDocuments({ state: 'done', fence: 1 })).toBe(ids.length)
    const third = ids.length / PROCESSES / 3
    expect(
      shares.filter((share) => share < third),
      `too small among ${shares.join(', ')}`,
    ).toEqual([])
  })
})
