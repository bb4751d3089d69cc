import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ConsoleUnderTest } from '../support/console/open-console.ts'
import { startFilledConsole } from '../support/console/start-filled-console.ts'

const STORED = 120

let console: ConsoleUnderTest
beforeAll(async () => {
  console = await startFilledConsole(STORED)
})
afterAll(() => console[Symbol.asyncDispose]())

it('an event that changes while its page of older events is loading is shown in its new state', async () => {
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn('/')
  await page.getByRole('status').getByText('Live').waitFor()
  const isChanged = Promise.withResolvers<void>()
  const isRead = Promise.withResolvers<void>()
  await page.route('**/operator/events.list*after*', async (route) => {
    const response = await route.fetch()
    isRead.resolve()
    await isChanged.promise
    await route.fulfill({ response })
  })
  await page.getByRole('button', { name: 'Load more' }).click()
  await isRead.promise
  await console.system.events.updateOne({ eventId: 'evt_0' }, { $set: { state: 'closed' } })
  await console.system.events.insertOne(sampleRecord({ eventId: 'evt_later' }))
  await page.getByRole('button', { name: 'Show 1 newer event' }).waitFor()
  isChanged.resolve()
  await page.getByText(`${STORED + 1} events`).waitFor()
  await page.keyboard.press('End')
  const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'evt_0', exact: true }) })
  await row.waitFor()
  expect(await row.textContent()).toContain('closed')
  expect(visit.problems).toEqual([])
})

it('the result of a check of one event is not shown for another event', async () => {
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn('/events')
  await page.getByRole('link', { name: 'evt_118', exact: true }).click()
  await page.getByRole('heading', { name: 'evt_118' }).waitFor()
  await page.getByRole('link', { name: 'All events' }).click()
  await page.getByRole('link', { name: 'evt_119', exact: true }).click()
  await page.getByRole('heading', { name: 'evt_119' }).waitFor()
  const verdict = page.getByText('The signature is not valid now')
  await page.getByRole('button', { name: 'Check the signature again' }).click()
  await verdict.waitFor()
  await page.evaluate('history.go(-2)')
  await page.getByRole('heading', { name: 'evt_118' }).waitFor()
  expect(await verdict.count()).toBe(0)
  expect(visit.problems).toEqual([])
})

it('after a token has expired, data that one operator has read is not shown to the next', async () => {
  await using visit = await console.open()
  const { page } = visit
  const event = page.getByRole('link', { name: 'evt_119', exact: true })
  await visit.signIn('/events')
  await event.waitFor()
  await page.route('**/operator/**', (route) =>
    route.continue({ headers: { ...route.request().headers(), authorization: 'Bearer ended' } }),
  )
  await visit.go('/refused')
  await page.getByLabel('Operator token').waitFor()
  await page.unrouteAll()
  const isAsked = Promise.withResolvers<void>()
  await page.route('**/operator/events.list*', () => isAsked.resolve())
  await page.getByLabel('Operator token').fill(console.system.tokens.operators.bob)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'Events', exact: true }).click()
  await isAsked.promise
  await page.getByRole('heading', { name: 'Events' }).waitFor()
  expect(await event.count()).toBe(0)
})
