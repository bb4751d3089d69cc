import { paymentEvent } from '@oncehook/gateway/testing/start-operated-system'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openHurried } from '../support/console/hurried-page.ts'
import { type ConsoleUnderTest, startConsole } from '../support/console/open-console.ts'

let console: ConsoleUnderTest
beforeAll(async () => {
  console = await startConsole()
})
afterAll(() => console[Symbol.asyncDispose]())

it('two clicks show why a delivery was refused, without its body', async () => {
  const { system } = console
  expect(await system.deliver(paymentEvent('evt_forged'), { secret: 'not-the-secret-of-anybody' })).toBe(401)
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn('/')
  await visit.click(page.getByRole('link', { name: 'Refused' }))
  await visit.click(page.getByRole('cell').getByRole('button', { name: 'signature_mismatch' }))
  const dialog = page.getByRole('dialog', { name: 'Refused delivery' })
  await dialog.getByText('newer, older').waitFor()
  await dialog.getByText('127.0.0.0/24').waitFor()
  await dialog.getByText('stripe-signature present').waitFor()
  await dialog.getByText('Compare the secret with the one').waitFor()
  expect(await dialog.textContent()).not.toContain('evt_forged')
  expect([visit.clicks(), visit.problems]).toEqual([2, []])
})

it('a provider is paused and resumed with two clicks and a reason each, and the overview says that it is paused', async () => {
  const { system } = console
  await using visit = await openHurried(console)
  const { page } = visit
  await visit.signIn('/providers')
  const part = page.getByRole('region', { name: 'Secrets of shop' }).locator('..')
  await visit.click(part.getByRole('button', { name: 'Pause…' }))
  await page.getByRole('textbox', { name: 'Reason' }).fill('wrong prices')
  await visit.click(page.getByRole('button', { name: 'Pause shop' }))
  await part.getByText(/^Paused .* by alice: wrong prices · 0 events wait$/).waitFor()
  expect(visit.clicks()).toBe(2)
  expect(await system.deliver(paymentEvent('evt_waits', { orderId: await system.order() }), { provider: 'shop' })).toBe(
    200,
  )
  await visit.soon(part.getByText('1 event waits'))
  await page.getByRole('link', { name: 'Overview', exact: true }).click()
  const paused = page.getByRole('link', { name: 'Paused: shop' })
  await visit.soon(paused)
  await paused.click()
  await visit.click(part.getByRole('button', { name: 'Resume…' }))
  await page.getByRole('textbox', { name: 'Reason' }).fill('prices are right')
  await visit.click(page.getByRole('button', { name: 'Resume shop' }))
  await part.getByRole('button', { name: 'Pause…' }).waitFor()
  await system.until('evt_waits', ({ state }) => state !== 'pending' && state !== 'processing')
  const { items } = await system.operator().audit.list.query()
  expect(items.slice(0, 2).map(({ by, action, reason }) => [by, action, reason])).toEqual([
    ['alice', 'providers.resume', 'prices are right'],
    ['alice', 'providers.pause', 'wrong prices'],
  ])
  expect([visit.clicks(), visit.problems]).toEqual([2, []])
})

it('one click shows who did what, and another verifies the chain again', async () => {
  await console.system.operator().events.replay.mutate({ filter: { state: 'dead' }, reason: 'to be seen here' })
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn('/')
  await visit.click(page.getByRole('link', { name: 'Audit log' }))
  await page.getByRole('cell', { name: 'to be seen here' }).waitFor()
  expect(visit.clicks()).toBe(1)
  await page.getByText(/unchanged, none is missing/).waitFor()
  await visit.click(page.getByRole('button', { name: 'Verify the chain again' }))
  await page.getByText(/unchanged, none is missing/).waitFor()
  expect([visit.clicks(), visit.problems]).toEqual([1, []])
})
