import { expect, it } from 'vitest'
import { applied, done, openFreshInbox, storePending } from '../../testing/open-fresh-inbox.ts'
import type { Claims } from './claims.ts'

const OWNERS = 8
const BATCH = 5
const ROUNDS = 15

async function claimOnce(claims: Claims): Promise<number> {
  const taken = await claims.claimDue(BATCH)
  await claims.settle(taken.map((claim) => ({ claim, settlement: done, attempt: applied })))
  return taken.length
}

it('a backlog that eight share is claimed by all of them in fair shares, and each event once', async () => {
  await using open = await openFreshInbox(process.env)
  const ids = Array.from({ length: OWNERS * BATCH * ROUNDS }, (_, index) => `e${index}`)
  await storePending(open, ids)
  const owners = Array.from({ length: OWNERS }, (_, index) => open.claims({ owner: `owner ${index}` }))
  for (const claims of owners) await claims.beat()
  const shares = Array.from(owners, () => 0)
  let latest: number[]
  do {
    latest = await Promise.all(owners.map(claimOnce))
    for (const [index, claimed] of latest.entries()) shares[index] = (shares[index] ?? 0) + claimed
  } while (latest.some((claimed) => claimed > 0))

  expect(shares.reduce((sum, share) => sum + share, 0)).toBe(ids.length)
  expect(await open.events.countDocuments({ state: 'done', fence: 1 })).toBe(ids.length)
  const third = ids.length / OWNERS / 3
  expect(
    shares.filter((share) => share < third),
    `too small among ${shares.join(', ')}`,
  ).toEqual([])
})
