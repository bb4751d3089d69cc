import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { type ConsoleUnderTest, startConsole, type Visit } from '../support/console/open-console.ts'

const MINUTE_MS = 60_000

let console: ConsoleUnderTest
beforeAll(async () => {
  console = await startConsole({ METRICS_PORT: '0' })
})
afterAll(() => console[Symbol.asyncDispose]())
beforeEach(async () => {
  for (const name of ['minutes', 'events']) await console.system.events.db.collection(name).deleteMany()
})

/** Stores what all gateways counted in the minute that began this many minutes ago. */
async function count(ago: number, counts: object): Promise<void> {
  const _id = new Date((Math.floor(Date.now() / MINUTE_MS) - ago) * MINUTE_MS)
  await console.system.events.db.collection<{ _id: Date }>('minutes').replaceOne({ _id }, counts, { upsert: true })
}

const picture = ({ page }: Visit, title: string) => page.getByRole('figure').filter({ hasText: title })

it('says in words that all is quiet, and that nothing came, instead of empty pictures', async () => {
  await using visit = await console.open()
  await visit.signIn('/')
  await visit.page.getByText(/^✓ All quiet: nothing is dead/).waitFor()
  for (const text of ['No delivery arrived', 'No delivery was answered', 'Nothing waited', 'No attempt failed']) {
    await visit.page.getByText(text).waitFor()
  }
  expect([await visit.page.getByRole('img').count(), visit.problems]).toEqual([0, []])
})

it('0: shows what was stored before, where another port has the metrics, and 1: another time, in the address', async () => {
  await count(9, { received: 5, refused: { rate_limited: 2 }, answered: { 1: 98, 4: 2 }, failed: { order_unknown: 3 } })
  await count(7, { received: 1, answered: { 0: 1 } })
  // The gateway of the test counts what waits in a minute only if it is the first to store it.
  for (const ago of [1, 0, -1, -2]) await count(ago, { received: 0, waiting: [4, 3, 2, 1] })
  await count(300, { received: 7 })
  expect((await console.system.call('/metrics')).status).toBe(404)
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn('/')
  for (const [title, legend] of [
    ['Received and refused', 'received 6refused 2'],
    ['Answered within', '99 % 5 ms50 % 5 ms'],
    ['Waiting, by age', 'under 1 min 4under 10 min 3under 1 h 2over 1 h 1'],
    ['Failed attempts', 'order_unknown 3'],
  ] as const) {
    await picture(visit, title).getByRole('img').waitFor()
    expect(await picture(visit, title).getByRole('list').textContent()).toBe(legend)
  }
  expect(visit.clicks()).toBe(0)
  await visit.click(page.getByRole('button', { name: 'Day' }))
  await picture(visit, 'Received').getByText('received 13').waitFor()
  await page.reload()
  await picture(visit, 'Received').getByText('received 13').waitFor()
  expect([visit.clicks(), new URL(page.url()).search, visit.problems]).toEqual([1, '?period=day', []])
})

it.each([
  ['1 dead event: amount_mismatch', '/events?state=dead&reason=amount_mismatch'],
  ['2 deliveries refused in the last hour: rate_limited', '/refused?reason=rate_limited'],
  ['1 event pending, the oldest for 2 h', '/events?state=pending'],
])('1: from “%s” to where it can be mended', async (name, address) => {
  const later = new Date(Date.now() + 50_000)
  await console.system.events.insertMany([
    sampleRecord({ state: 'dead', reason: 'amount_mismatch' }),
    sampleRecord({ state: 'pending', dueAt: later, receivedAt: new Date(Date.now() - 7_300_000) }),
  ])
  await count(59, { received: 0, refused: { rate_limited: 2, unavailable: 1 } })
  await using visit = await console.open()
  await visit.signIn('/')
  const needs = visit.page.getByRole('region', { name: 'Needs you' })
  await needs.getByText('1 delivery not taken in the last hour: unavailable. The log').waitFor()
  await visit.click(needs.getByRole('link', { name }))
  await visit.page.waitForURL(`${console.url}${address}`)
  expect([visit.clicks(), visit.problems]).toEqual([1, []])
})
