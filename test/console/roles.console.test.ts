import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ConsoleUnderTest, startConsole } from '../support/console/open-console.ts'
import { OPERATORS_WITH_READER, READER } from '../support/console/operators-with-reader.ts'
import { pay } from '../support/console/pay.ts'

let console: ConsoleUnderTest
beforeAll(async () => {
  console = await startConsole(OPERATORS_WITH_READER)
})
afterAll(() => console[Symbol.asyncDispose]())

it('an operator who may only read can use no action, and each action says why', async () => {
  const { id } = await pay(console, 'evt_read_only', 1)
  await using visit = await console.open()
  const { page } = visit
  await page.goto(`${console.url}/events/${id}`)
  await page.getByLabel('Operator token').fill(READER)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Replay…' }).waitFor()
  for (const name of ['Replay…', 'Close…', 'Release…']) {
    const button = page.getByRole('button', { name })
    expect([name, await button.isDisabled(), await button.getAttribute('title')]).toEqual([
      ...[name, true, 'Your token does not have the role “operate”.'],
    ])
  }
  await page.getByText('Your token does not have the role “bodies”.').waitFor()
  await page.getByText('Signatures and other credentials are hidden').waitFor()
  expect(await page.getByRole('region', { name: 'Raw' }).count()).toBe(0)
  await page.getByRole('link', { name: 'All events' }).click()
  await page.getByRole('link', { name: 'evt_read_only' }).waitFor()
  expect(await page.getByRole('button', { name: 'Replay these…' }).isDisabled()).toBe(true)
  expect(await page.getByLabel('text in bodies').isDisabled()).toBe(true)
  await page.getByRole('link', { name: 'Providers' }).click()
  await page.getByRole('button', { name: 'Pause…' }).first().waitFor()
  for (const name of ['Pause…', 'Send a test event…']) {
    expect([name, await page.getByRole('button', { name }).first().isDisabled()]).toEqual([name, true])
  }
  expect(visit.problems).toEqual([])
})
