import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ConsoleUnderTest, startConsole } from '../support/console/open-console.ts'

/** As many connections as a browser opens to a server. */
const CONNECTIONS = 6

let console: ConsoleUnderTest
beforeAll(async () => {
  console = await startConsole()
})
afterAll(() => console[Symbol.asyncDispose]())

// Headless Chromium treats every tab as visible.
const HIDE = `(() => {
  Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => 'hidden' })
  document.dispatchEvent(new Event('visibilitychange'))
})()`
const SHOW = `(() => {
  delete document.visibilityState
  document.dispatchEvent(new Event('visibilitychange'))
})()`

const status = (page: Page, text: string) => page.getByRole('status').getByText(text)

/** Signs in on the list of events, and waits until it is live. */
async function openLive(page: Page): Promise<void> {
  await page.goto(`${console.url}/events`)
  await page.getByLabel('Operator token').fill(console.system.tokens.operators.alice)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await status(page, 'Live').waitFor()
}

it('a tab is live however many others are open behind it', async () => {
  await using visit = await console.open()
  const { page } = visit
  await page.goto(console.url)
  for (let tabs = 0; tabs < CONNECTIONS; tabs += 1) {
    // A tab that the page itself opens shares its process, so that it starts quickly.
    const [other] = await Promise.all([page.waitForEvent('popup'), page.evaluate('void open("/livez")')])
    await openLive(other)
    await other.evaluate(HIDE)
    await status(other, 'Connecting…').waitFor()
  }
  await openLive(page)
  expect(visit.problems).toEqual([])
})

it('a tab that is seen again shows what came meanwhile, and is live', async () => {
  await using visit = await console.open()
  const { page } = visit
  await openLive(page)
  await page.evaluate(HIDE)
  await status(page, 'Connecting…').waitFor()
  await console.system.events.insertOne(sampleRecord({ eventId: 'evt_meanwhile' }))
  await page.evaluate(SHOW)
  await page.getByRole('link', { name: 'evt_meanwhile' }).waitFor()
  await status(page, 'Live').waitFor()
  expect(visit.problems).toEqual([])
})
