import { PROVIDERS } from '@oncehook/gateway/testing/start-operated-system'
import { expect, it } from 'vitest'
import { countClicks } from '../support/console/count-clicks.ts'
import { type ConsoleUnderTest, startConsole, type Visit } from '../support/console/open-console.ts'

// Only the API of this scheme proves what happened, so the gateway cannot sign for it.
const asked = { scheme: 'mollie-classic', fetch: { baseUrl: 'http://127.0.0.1:9', token: 'test_0123456789abcdefghij' } }

/** Gives the reason and, if there is one, the order, and sends. The field for the reason has the focus already. */
async function confirm({ page }: Visit, orderId = ''): Promise<void> {
  await page.getByRole('dialog').waitFor()
  await page.keyboard.type('does it arrive?')
  await page.keyboard.press('Tab')
  await page.keyboard.type(orderId)
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
  await visit.signIn('/')
  await count.take()
  await visit.page.getByRole('button', { name: 'Send a test event of acme…' }).click()
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

it('2: send a test event of a provider, where the gateway can sign for it', async () => {
  await using console = await startConsole({ PROVIDERS_FILE: '', PROVIDERS: JSON.stringify({ ...PROVIDERS, asked }) })
  await using visit = await console.open()
  const { page } = visit
  const count = countClicks(page)
  await visit.signIn('/providers')
  await count.take()
  const partOf = (name: string) =>
    page.locator('section').filter({ has: page.getByRole('heading', { name, exact: true }) })
  const refused = partOf('asked').getByRole('button', { name: 'Send a test event…' })
  await refused.waitFor()
  expect(await refused.getAttribute('title')).toBe('Only the provider can sign: send a test event from its dashboard.')
  expect(await refused.isDisabled()).toBe(true)
  await partOf('shop').getByRole('button', { name: 'Send a test event…' }).click()
  await confirm(visit)
  const stored = partOf('shop')
    .getByRole('status')
    .getByRole('link', { name: /^test_/ })
  await stored.waitFor()
  expect(await count.take()).toBe(2)
  await stored.click()
  await page.getByText('Test', { exact: true }).waitFor()
  await page.getByRole('region', { name: 'Headers' }).getByText('content-type').waitFor()
  expect(await page.getByText('x-signature').count()).toBe(0)
  expect(visit.problems).toEqual([])
})

it('2: where test events have effects, pay the newest order with one, or the order that is named', async () => {
  await using console = await startConsole({ TEST_EVENTS: 'apply' })
  const { system } = console
  const [named, newest] = [await system.order(), await system.order()]
  await using visit = await console.open()
  const { page } = visit
  const count = countClicks(page)
  await visit.signIn('/providers')
  const part = page.getByRole('region', { name: 'Secrets of shop' }).locator('..')
  for (const [orderId, typed] of [
    [newest, ''],
    [named, named],
  ] as const) {
    await part.getByRole('button', { name: 'Send a test event…' }).waitFor()
    await count.take()
    await part.getByRole('button', { name: 'Send a test event…' }).click()
    await confirm(visit, typed)
    await page
      .getByRole('status')
      .getByRole('link', { name: /^test_/ })
      .click()
    expect(await count.take()).toBe(3)
    await page.getByRole('link', { name: orderId }).waitFor()
    const { events } = system.operator()
    const shown = async () => (await events.list.query({ orderId })).items.map(({ state, test }) => [state, test])
    await expect.poll(shown).toEqual([['done', true]])
    await visit.go('/providers')
  }
  expect(visit.problems).toEqual([])
})
