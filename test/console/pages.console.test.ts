import { paymentEvent } from '@oncehook/gateway/testing/start-operated-system'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openHurried } from '../support/console/hurried-page.ts'
import { type ConsoleUnderTest, startConsole } from '../support/console/open-console.ts'

let console: ConsoleUnderTest
beforeAll(async () => {
  console = await startConsole()
})
afterAll(() => console[Symbol.asyncDispose]())

it('a filter that no refused delivery matches does not say that none was refused', async () => {
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn('/refused?reason=timestamp_outside_window')
  await page.getByText('No refused delivery matches these filters').waitFor()
  expect([await page.getByText('No delivery was refused').count(), visit.problems]).toEqual([0, []])
})

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

it('each secret shows what its rotation still waits for', async () => {
  const { system } = console
  for (const secret of [system.secrets.newer, system.secrets.older]) {
    expect(await system.deliver(paymentEvent(`evt_${secret.slice(-6)}`), { secret })).toBe(200)
  }
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn('/')
  await visit.click(page.getByRole('link', { name: 'Providers' }))
  await page.getByText('/api/webhooks/acme').waitFor()
  const secrets = page.getByRole('region', { name: 'Secrets of acme' })
  await secrets
    .getByRole('row')
    .filter({ hasText: 'newer' })
    .getByText(/in use|still matches/)
    .waitFor()
  await secrets
    .getByRole('row')
    .filter({ hasText: 'older' })
    .getByText(/in use|still matches/)
    .waitFor()
  expect([visit.clicks(), visit.problems]).toEqual([1, []])
})

it('a provider is paused and resumed with two clicks and a reason each, and every page says that it is paused', async () => {
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
  await page.getByRole('link', { name: 'Health', exact: true }).click()
  await visit.soon(page.getByRole('row').filter({ hasText: 'shop' }).getByText('Paused'))
  await page.getByRole('link', { name: 'Events', exact: true }).click()
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

it('a pause is refused if somebody else has already paused the provider, with the id of the request', async () => {
  const { system } = console
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn('/providers')
  const part = page.getByRole('region', { name: 'Secrets of shop' }).locator('..')
  await part.getByRole('button', { name: 'Pause…' }).click()
  await system.operator('bob').providers.pause.mutate({ provider: 'shop', reason: 'faster' })
  const dialog = page.getByRole('dialog', { name: 'Pause shop' })
  await dialog.getByRole('textbox', { name: 'Reason' }).fill('slower')
  await dialog.getByRole('button', { name: 'Pause shop' }).click()
  expect(await dialog.getByRole('alert').textContent()).toMatch(
    /already paused.*provider_paused.*Request [0-9a-f-]{36}/,
  )
  await system.operator('bob').providers.resume.mutate({ provider: 'shop', reason: 'over' })
  expect(visit.problems).toEqual([])
})

it('the replays of all operators are one click away, with their progress', async () => {
  const { system } = console
  await system.deliver(paymentEvent('evt_replayed', { orderId: await system.order(), amount: 1 }))
  const { _id } = await system.until('evt_replayed', ({ state }) => state === 'dead')
  const asked = { ids: [String(_id)], reason: 'asked for by bob' }
  await system.operator('bob').events.replay.mutate(asked)
  await system.until('evt_replayed', ({ state, replays }) => state === 'dead' && replays?.length === 1)
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn('/')
  await visit.click(page.getByRole('link', { name: 'Replays' }))
  const row = page.getByRole('row').filter({ hasText: 'asked for by bob' })
  await row.getByText('finished').waitFor()
  const cells = await row.getByRole('cell').allTextContents()
  expect(cells.slice(2)).toEqual(['finished', 'bob', '1', '1', '0', '1', 'asked for by bob'])
  expect([visit.clicks(), visit.problems]).toEqual([1, []])
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

it('an entry of the audit log is shown whole by a click, even if rows have no room for it', async () => {
  const reason = 'on a narrow window, too'
  await console.system.operator().events.replay.mutate({ filter: { state: 'dead', provider: 'acme' }, reason })
  await using visit = await console.open({ width: 360, height: 760 })
  const { page } = visit
  await visit.signIn('/audit')
  await visit.click(page.getByRole('button', { name: 'events.replay' }).first())
  const dialog = page.getByRole('dialog', { name: 'Entry of the audit log' })
  for (const text of ['alice', reason, '"provider": "acme"']) await dialog.getByText(text).waitFor()
  expect([visit.clicks(), visit.problems]).toEqual([1, []])
})

it('health shows how quickly deliveries are answered, and the providers', async () => {
  const { system } = console
  expect(await system.deliver(paymentEvent('evt_health'))).toBe(200)
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn('/')
  await visit.click(page.getByRole('link', { name: 'Health', exact: true }))
  await page.getByText(/^99 % of \d+ deliver(?:y|ies) were answered within .* each counts its own\.$/).waitFor()
  await page.getByRole('cell', { name: 'shop' }).waitFor()
  expect([visit.clicks(), visit.problems]).toEqual([1, []])
})
