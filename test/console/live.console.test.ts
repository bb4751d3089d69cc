import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openHurried } from '../support/console/hurried-page.ts'
import type { ConsoleUnderTest, Visit } from '../support/console/open-console.ts'
import { startFilledConsole } from '../support/console/start-filled-console.ts'

const STORED = 120

let console: ConsoleUnderTest
beforeAll(async () => {
  console = await startFilledConsole(STORED)
})
afterAll(() => console[Symbol.asyncDispose]())

const link = ({ page }: Visit, eventId: string) => page.getByRole('link', { name: eventId, exact: true })
const live = ({ page }: Visit) => page.getByRole('status').getByText('Live', { exact: true })

// Headless Chromium treats every tab as visible.
const HIDE = `Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => 'hidden' })`
const SHOW = `{
  delete document.visibilityState
  document.dispatchEvent(new Event('visibilitychange'))
}`

it('new events and new states are shown, also of a search, and again after a time without an answer', async () => {
  const { events } = console.system
  await using visit = await openHurried(console)
  const { page } = visit
  await visit.signIn('/events')
  await visit.search('ord_live')
  await live(visit).waitFor()
  await events.insertOne(sampleRecord({ eventId: 'evt_live', orderId: 'ord_live' }))
  await visit.soon(link(visit, 'evt_live'))
  await events.updateOne({ eventId: 'evt_live' }, { $set: { state: 'closed' } })
  await visit.soon(page.getByRole('row').filter({ hasText: 'evt_live' }).getByText('closed'))
  await page.route('**/operator/events.feed*', (route) => route.abort())
  await visit.soon(page.getByText('Not live: the gateway does not answer'))
  await page.unroute('**/operator/events.feed*')
  await visit.soon(live(visit))
  expect(visit.problems).toEqual([])
})

it('rows stay in their place while somebody reads further down, and newer ones follow at the top', async () => {
  await using visit = await openHurried(console)
  const { page } = visit
  await visit.signIn('/events')
  await page.getByText('100 events, and older ones').waitFor()
  await page.keyboard.press('End')
  const oldest = page.locator('tr[data-row="99"] a').first()
  await oldest.waitFor()
  const seen = await oldest.textContent()
  let reads = 0
  page.on('request', (request) => {
    if (request.url().includes('/operator/events.feed')) reads += 1
  })
  await console.system.events.insertOne(sampleRecord({ eventId: 'evt_newer' }))
  await page.clock.fastForward(20_000)
  expect([reads, await oldest.textContent()]).toEqual([0, seen])
  await page.keyboard.press('Home')
  await visit.soon(link(visit, 'evt_newer'))
  expect(visit.problems).toEqual([])
})

it('a hidden tab reads nothing, and catches up when it is seen again', async () => {
  await using visit = await openHurried(console)
  const { page } = visit
  await visit.signIn('/events')
  await live(visit).waitFor()
  await page.evaluate(HIDE)
  await console.system.events.insertOne(sampleRecord({ eventId: 'evt_meanwhile' }))
  await page.clock.fastForward(20_000)
  expect(await link(visit, 'evt_meanwhile').count()).toBe(0)
  await page.evaluate(SHOW)
  await visit.soon(link(visit, 'evt_meanwhile'))
  expect(visit.problems).toEqual([])
})

it('rows keep their places under the focus, with their newest states, and new events are counted above', async () => {
  await using visit = await openHurried(console)
  const { page } = visit
  await visit.signIn('/events')
  const first = page.locator('tr[data-row="0"]')
  await first.waitFor()
  await page.keyboard.press('j')
  const eventId = String(await first.getByRole('link').first().textContent())
  await console.system.events.insertOne(sampleRecord({ eventId: 'evt_pushing' }))
  await console.system.events.updateOne({ eventId }, { $set: { state: 'closed' } })
  await visit.soon(page.getByRole('status').getByText('1 new event above'))
  expect(await first.textContent()).toContain(eventId)
  await first.getByText('closed').waitFor()
  await page.getByRole('heading', { name: 'Events' }).click()
  await visit.soon(link(visit, 'evt_pushing'))
  expect(visit.problems).toEqual([])
})
