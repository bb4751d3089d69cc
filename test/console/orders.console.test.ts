import { afterAll, beforeAll, expect, it } from 'vitest'
import { giveReason } from '../support/console/give-reason.ts'
import { type ConsoleUnderTest, startConsole, type Visit } from '../support/console/open-console.ts'
import { ALICE, OPERATORS_WITH_READER, READER } from '../support/console/operators-with-reader.ts'
import { pay } from '../support/console/pay.ts'

let console: ConsoleUnderTest
beforeAll(async () => {
  console = await startConsole(OPERATORS_WITH_READER)
})
afterAll(() => console[Symbol.asyncDispose]())

async function signIn({ page }: Visit, path: string, token: string): Promise<void> {
  await page.goto(`${console.url}${path}`)
  await page.getByLabel('Operator token').fill(token)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

it('an event that does not fit shows both amounts, and one dialog corrects its order and replays it', async () => {
  const { id } = await pay(console, 'evt_misfit', 600)
  await using visit = await console.open()
  const { page } = visit
  await signIn(visit, `/events/${id}`, ALICE)
  await page.getByText('3.00 EUR', { exact: true }).waitFor()
  await page.getByText('6.00 EUR: does not fit').waitFor()
  await page.getByRole('button', { name: 'Correct the order…' }).focus()
  await page.keyboard.press('Enter')
  await giveReason(visit, 'the shop has billed four')
  for (const [amount, preview] of [
    ['4', '3.00 EUR → 8.00 EUR. The event says 6.00 EUR.'],
    ['3.001', '3.00 EUR → –. The event says 6.00 EUR.'],
    ['3.00', '3.00 EUR → 6.00 EUR. The event says 6.00 EUR, which fits.'],
  ] as const) {
    await page.getByLabel('Unit amount book').fill(amount)
    await page.getByText(`Amount due: ${preview}`, { exact: true }).waitFor()
  }
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const facts = page.getByRole('definition')
  await facts.getByText('paid').waitFor()
  await facts.getByText('6.00 EUR', { exact: true }).first().waitFor()
  await facts.getByText('unlocked').waitFor()
  await console.system.until('evt_misfit', ({ state }) => state === 'done')
  expect(visit.problems).toEqual([])
})

it('an operator without the role sees both amounts and cannot correct the order', async () => {
  const { id } = await pay(console, 'evt_seen', 600)
  await using visit = await console.open()
  const { page } = visit
  await signIn(visit, `/events/${id}`, READER)
  await page.getByText('3.00 EUR', { exact: true }).waitFor()
  await page.getByText('6.00 EUR: does not fit').waitFor()
  const button = page.getByRole('button', { name: 'Correct the order…' })
  expect([await button.isDisabled(), await button.getAttribute('title')]).toEqual([
    ...[true, 'Your token does not have the role “orders”.'],
  ])
  expect(visit.problems).toEqual([])
})

it('a search for an order without events says whether there is one, and what was refused since', async () => {
  const orderId = await console.system.order()
  expect(await console.system.deliver('{}', { secret: 'not-the-secret-of-anybody' })).toBe(401)
  await using visit = await console.open()
  const { page } = visit
  await signIn(visit, '/events', ALICE)
  await visit.search(orderId)
  await page.getByRole('definition').getByText('pending').waitFor()
  await page.getByRole('link', { name: '1 refused since the order was created' }).waitFor()
  await visit.search('jane@shop.example')
  await page.getByText('No order has this id now.').waitFor()
  expect([new URL(page.url()).pathname, visit.problems]).toEqual(['/events', []])
  expect(page.url()).not.toContain('jane')
})
