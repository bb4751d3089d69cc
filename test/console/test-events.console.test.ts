import { expect, it } from 'vitest'
import { countClicks } from '../support/console/count-clicks.ts'
import { type ConsoleUnderTest, startConsole, type Visit } from '../support/console/open-console.ts'

/** Gives the reason, and sends. Its field has the focus already. */
async function confirm({ page }: Visit): Promise<void> {
  await page.getByRole('dialog').waitFor()
  await page.keyboard.type('does it arrive?')
  await page.getByRole('button', { name: 'Send the test event' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

async function newestAction({ system }: ConsoleUnderTest): Promise<unknown> {
  const [newest] = (await system.operator().audit.list.query()).items
  return newest
}

it('2: send a test event from the empty list of events, and see it there', async () => {
  await using console = await startConsole()
  await using visit = await console.open()
  const count = countClicks(visit.page)
  await visit.signIn('/events')
  await count.take()
  await visit.page.getByRole('button', { name: 'Send a test event of acme…' }).click()
  await visit.page.getByRole('dialog').getByText('It has no effect').waitFor()
  await confirm(visit)
  const row = visit.page.getByRole('row').filter({ hasText: 'unhandled' })
  await row.getByText('Test', { exact: true }).waitFor()
  await row.getByRole('link', { name: /^test_[0-9a-f]+$/ }).waitFor()
  expect([await count.take(), visit.problems]).toEqual([2, []])
  await visit.go('/events?tests=without')
  await visit.page.getByText('No event matches these filters').waitFor()
  await visit.go('/events?tests=only')
  await row.getByRole('link', { name: /^test_[0-9a-f]+$/ }).waitFor()
  expect(await newestAction(console)).toMatchObject({
    by: 'alice',
    action: 'events.send-test',
    reason: 'does it arrive?',
  })
})
