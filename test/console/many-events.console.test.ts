import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ConsoleUnderTest } from '../support/console/open-console.ts'
import { startFilledConsole } from '../support/console/start-filled-console.ts'

const EVENTS = 350

let console: ConsoleUnderTest
beforeAll(async () => {
  console = await startFilledConsole(EVENTS)
})
afterAll(() => console[Symbol.asyncDispose]())

it('a long list keeps few rows in the document, and loads older events on request', async () => {
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn('/events')
  await page.getByRole('link', { name: `evt_${EVENTS - 1}`, exact: true }).waitFor()
  const more = page.getByRole('button', { name: 'Load more' })
  for (const known of [100, 200, 300]) {
    await page.getByText(`${known} events, and older ones`).waitFor()
    await visit.click(more)
  }
  const all = await console.system.events.countDocuments()
  await page.getByText(`${all} events`, { exact: true }).waitFor()
  await page.keyboard.press('End')
  await page.getByRole('link', { name: 'evt_0', exact: true }).waitFor()
  expect(await page.locator('tbody tr[data-row]').count()).toBeLessThan(80)
  expect([visit.clicks(), visit.problems]).toEqual([3, []])
})

it('a long search shows its first results soon, and continues', async () => {
  await using visit = await console.open()
  const { page } = visit
  const isShown = Promise.withResolvers<void>()
  const repeated = Array.from({ length: 30 }, (_, index) =>
    sampleRecord({
      eventId: `evt_repeated_${index}`,
      deliveries: 2,
      receivedAt: new Date(Date.now() - 86_400_000 + index * 1_000),
    }),
  )
  await console.system.events.insertMany(repeated)
  await page.route('**/operator/events.feed*', async (route) => {
    const { after, ...part } = route.request().postDataJSON()
    if (after !== undefined) {
      await isShown.promise
      await route.fallback()
      return
    }
    const response = await route.fetch({ postData: { ...part, limit: 10 } })
    const answer = await response.json()
    answer.result.data.cut = { searchedTo: answer.result.data.items.at(-1).receivedAt }
    await route.fulfill({ response, json: answer })
  })
  await visit.signIn('/events?duplicates=repeated')
  await page.getByText('The search continues').waitFor()
  await page.getByRole('link', { name: 'evt_repeated_29', exact: true }).waitFor()
  expect(await page.locator('tbody tr[data-row]').count()).toBe(10)
  expect(await page.getByRole('button', { name: 'Search further back' }).count()).toBe(0)
  isShown.resolve()
  await page.getByText('30 events', { exact: true }).waitFor()
  await page.getByText('The search continues').waitFor({ state: 'detached' })
  expect(visit.problems).toEqual([])
})
