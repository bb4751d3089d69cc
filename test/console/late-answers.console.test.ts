import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ConsoleUnderTest } from '../support/console/open-console.ts'
import { startFilledConsole } from '../support/console/start-filled-console.ts'

const STORED = 120

let console: ConsoleUnderTest
beforeAll(async () => {
  console = await startFilledConsole(STORED)
})
afterAll(() => console[Symbol.asyncDispose]())

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
  await page.route('**/operator/events.feed*', () => isAsked.resolve())
  await page.getByLabel('Operator token').fill(console.system.tokens.operators.bob)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'Events', exact: true }).click()
  await isAsked.promise
  await page.getByRole('heading', { name: 'Events' }).waitFor()
  expect(await event.count()).toBe(0)
})
