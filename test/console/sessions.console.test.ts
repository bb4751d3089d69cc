import { afterAll, beforeAll, expect, it } from 'vitest'
import { giveReason } from '../support/console/give-reason.ts'
import { type ConsoleUnderTest, startConsole, type Visit } from '../support/console/open-console.ts'
import { OPERATORS_WITH_READER, READER } from '../support/console/operators-with-reader.ts'

let console: ConsoleUnderTest
beforeAll(async () => {
  console = await startConsole(OPERATORS_WITH_READER)
})
afterAll(() => console[Symbol.asyncDispose]())

async function signIn({ page }: Visit, token: string): Promise<void> {
  await page.goto(`${console.url}/sessions`)
  await page.getByLabel('Operator token').fill(token)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
}

/** Asks the gateway for something. */
const lookAgain = (visit: Visit) => visit.page.getByRole('link', { name: 'Providers' }).click()

it('an operator sees their sessions, ends one with a reason, and then all', async () => {
  await console.system.db.collection('operator_sessions').deleteMany({})
  await using visit = await console.open()
  await using other = await console.open()
  await signIn(other, READER)
  await signIn(visit, READER)
  const { page } = visit
  const rows = page.getByRole('table', { name: 'Sessions of reader' }).getByRole('row')
  await rows.nth(2).waitFor()
  expect(await rows.count()).toBe(3)
  expect(await rows.filter({ hasText: 'this one' }).count()).toBe(1)
  await rows.filter({ hasNotText: 'this one' }).getByRole('button', { name: 'End…' }).click()
  await giveReason(visit, 'left at a desk')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await expect.poll(() => rows.count()).toBe(2)
  await lookAgain(other)
  await other.page.getByLabel('Operator token').waitFor()
  await page.getByRole('button', { name: 'End all sessions of reader…' }).click()
  await giveReason(visit, 'the day is over')
  await page.keyboard.press('Enter')
  await page.getByLabel('Operator token').waitFor()
  expect([...visit.problems, ...other.problems]).toEqual([])
})
