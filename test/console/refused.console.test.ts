import { paymentEvent } from '@oncehook/gateway/testing/start-operated-system'
import { ObjectId } from 'mongodb'
import { expect, it, vi } from 'vitest'
import { type ConsoleUnderTest, startConsole, type Visit } from '../support/console/open-console.ts'

const MORE_THAN_A_PAGE = 120

const reasonsOf = ({ page }: Visit) => page.getByRole('group', { name: 'Reason' }).getByRole('button')

/** One delivery without a signature, and newer ones than a page of the list has, with another reason. */
async function refuseMany({ system }: ConsoleUnderTest): Promise<void> {
  expect(await system.deliver(paymentEvent('evt_late'), { timestamp: 1_000_000_000 })).toBe(401)
  const refusals = system.events.db.collection<{ _id: unknown; id: ObjectId }>('refusals')
  const first = await vi.waitUntil(() => refusals.findOne({ id: { $exists: true } }), { timeout: 120_000 })
  const copies = Array.from({ length: MORE_THAN_A_PAGE }, (_, slot) => ({
    ...{ ...first, id: new ObjectId(), why: 'signature_mismatch' },
    _id: { provider: 'acme', ring: 'signature_mismatch', slot },
  }))
  await refusals.insertMany(copies)
}

it('each reason of a kept record is offered with its number, even if no loaded row has it', async () => {
  await using console = await startConsole()
  await refuseMany(console)
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn('/refused')
  await page.getByRole('button', { name: 'Load more' }).waitFor()
  expect(await page.getByRole('row').filter({ hasText: 'timestamp_outside_window' }).count()).toBe(0)
  const all = ['All reasons', 'signature_mismatch (120)', 'timestamp_outside_window (1)']
  await expect.poll(() => reasonsOf(visit).allTextContents()).toEqual(all)
  await reasonsOf(visit).getByText('timestamp_outside_window').click()
  await page.getByRole('row').filter({ hasText: 'timestamp_outside_window' }).waitFor()
  await visit.go('/refused?provider=shop')
  await expect.poll(() => reasonsOf(visit).allTextContents()).toEqual(['All reasons'])
  expect(visit.problems).toEqual([])
})
