import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { paymentEvent, TOKENS } from '@oncehook/gateway/testing/start-operated-system'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openHurried } from '../support/console/hurried-page.ts'
import type { ConsoleUnderTest, Visit } from '../support/console/open-console.ts'
import { startFilledConsole } from '../support/console/start-filled-console.ts'

const STORED = 120
const TAIL = '**/operator/events.tail*'
const LIST = '**/operator/events.list*'
const MOST_OF_ONE = 20
const CROWD = Object.fromEntries(
  Array.from({ length: 5 }, (_, index) => [`guest${index}`, `the-token-of-the-guest-with-number-${index}`]),
)

let console: ConsoleUnderTest
beforeAll(async () => {
  const OPERATOR_TOKENS = JSON.stringify({ ...TOKENS.operators, ...CROWD })
  console = await startFilledConsole(STORED, { OPERATOR_TOKENS })
})
afterAll(() => console[Symbol.asyncDispose]())

const row = ({ page }: Visit, eventId: string) => page.getByRole('link', { name: eventId, exact: true })
const status = ({ page }: Visit, text: string) => page.getByRole('status').getByText(text)

/** A message of the stream with the number of changes that are missing. */
const message = (id: number, skipped: number): string =>
  `id: ${id}\ndata: ${JSON.stringify({ items: [], counts: [], lagging: skipped > 0, skipped })}\n\n`

/** Follows the events with a token as often as one operator may. */
function openMany(token: string): Promise<Response>[] {
  const headers = { authorization: `Bearer ${token}` }
  const open = () => fetch(`${console.url}/operator/events.tail`, { headers })
  return Array.from({ length: MOST_OF_ONE }, open)
}

// This is the first test, so nobody else follows the events of this gateway.
it.each([
  ['too many pages are live already', 'alice', () => Object.values(CROWD)],
  ['you follow events 20 times already', 'bob', ({ system }: ConsoleUnderTest) => [system.tokens.operators.bob]],
] as const)('says when %s, and becomes live when others have left', async (text, operator, tokensOf) => {
  const readers = await Promise.all(tokensOf(console).flatMap(openMany))
  await using visit = await openHurried(console)
  await visit.signIn('/', operator)
  await status(visit, text).waitFor()
  await row(visit, `evt_${STORED - 1}`).waitFor()
  await Promise.all(readers.map(({ body }) => body?.cancel()))
  await visit.soon(status(visit, 'Live'))
  expect(visit.problems).toEqual([])
})

it('new events and new states are shown without reading the list again', async () => {
  const { system } = console
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn('/')
  await status(visit, 'Live').waitFor()
  await row(visit, `evt_${STORED - 1}`).waitFor()
  await page.route(LIST, (route) => route.abort())
  await system.deliver(paymentEvent('evt_in_place', { orderId: await system.order() }))
  await page.getByRole('row').filter({ hasText: 'evt_in_place' }).getByText('done').waitFor()
  await system.events.updateOne({ eventId: 'evt_in_place' }, { $set: { state: 'closed' } })
  await page.getByRole('row').filter({ hasText: 'evt_in_place' }).getByText('closed').waitFor()
  expect(await row(visit, 'evt_in_place').count()).toBe(1)
  expect(visit.problems).toEqual([])
})

it('a stream that breaks is opened again, and events from the meantime are shown', async () => {
  await using visit = await openHurried(console)
  const { page } = visit
  await page.route(TAIL, (route) => route.abort())
  await visit.signIn('/')
  await status(visit, 'Reconnecting').waitFor()
  await console.system.events.insertOne(sampleRecord({ eventId: 'evt_meanwhile' }))
  await page.unroute(TAIL)
  await visit.soon(status(visit, 'Live'))
  await row(visit, 'evt_meanwhile').waitFor()
  expect(visit.problems).toEqual([])
})

it('changes that are not shown are counted, and rows that somebody reads stay until the list is refreshed', async () => {
  await using visit = await console.open()
  const { page } = visit
  const isScrolled = Promise.withResolvers<void>()
  const messages = [message(1, 0), message(2, 450)]
  await page.route(TAIL, async (route) => {
    const body = messages.shift()
    if (body === undefined) return // the page waits for a third connection
    if (messages.length === 0) await isScrolled.promise
    await route.fulfill({ contentType: 'text/event-stream', body: `event: connected\ndata: {}\n\n${body}` })
  })
  await visit.signIn('/')
  await page.getByText('100 events, and older ones').waitFor()
  await page.keyboard.press('End')
  // This event is near the end of the page. The browser scrolls gradually, so it shows other rows on the way.
  const eventId = `evt_${STORED - 90}`
  await row(visit, eventId).waitFor()
  isScrolled.resolve()
  await page.getByText('450 changes are not shown').waitFor({ state: 'attached' })
  await row(visit, eventId).waitFor()
  await visit.clickUnscrolled(page.getByRole('button', { name: 'Refresh' }))
  await page.getByText('450 changes are not shown').waitFor({ state: 'detached' })
  expect([visit.clicks(), visit.problems]).toEqual([1, []])
})

it('events from before the stream began are also counted while somebody reads further down', async () => {
  await using visit = await console.open()
  const { page } = visit
  const isStored = Promise.withResolvers<void>()
  await page.route(TAIL, async (route) => {
    await isStored.promise
    await route.fallback()
  })
  await visit.signIn('/')
  await page.getByText('100 events, and older ones').waitFor()
  await page.keyboard.press('End')
  await expect.poll(() => page.evaluate('window.scrollY > 200')).toBe(true)
  await console.system.events.insertOne(sampleRecord({ eventId: 'evt_before_stream' }))
  isStored.resolve()
  await visit.clickUnscrolled(page.getByRole('button', { name: 'Show 1 newer event' }))
  await row(visit, 'evt_before_stream').waitFor()
  expect([visit.clicks(), visit.problems]).toEqual([1, []])
})

it('a search by id and one for duplicates say that they are not live, and are refreshed on request', async () => {
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn('/events?find=evt_later')
  await page.getByText('No event matches these filters').waitFor()
  await status(visit, 'Not live').waitFor()
  await console.system.events.insertOne(sampleRecord({ eventId: 'evt_later' }))
  await visit.click(page.getByRole('button', { name: 'Refresh' }))
  await row(visit, 'evt_later').waitFor()
  await page.getByLabel('Duplicates').selectOption('changed')
  await status(visit, 'Not live').waitFor()
  expect([visit.clicks(), visit.problems]).toEqual([1, []])
})
