import { writeFile } from 'node:fs/promises'
import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { PROVIDERS, paymentEvent } from '@oncehook/gateway/testing/start-operated-system'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ClickCount, countClicks } from '../support/console/count-clicks.ts'
import { giveReason } from '../support/console/give-reason.ts'
import { openHurried } from '../support/console/hurried-page.ts'
import { type ConsoleUnderTest, startConsole, type Visit } from '../support/console/open-console.ts'
import { pay } from '../support/console/pay.ts'

const MANY = 60

let console: ConsoleUnderTest
beforeAll(async () => {
  console = await startConsole()
})
afterAll(() => console[Symbol.asyncDispose]())

/** Opens a window, signs in at an address, and counts the clicks from then on. */
async function open(path: string): Promise<Visit & { readonly count: ClickCount }> {
  const visit = await console.open()
  const count = countClicks(visit.page)
  await visit.signIn(path)
  await count.take()
  return Object.assign(visit, { count })
}

/** Changes what a page gets from a procedure of the operator API. */
function changeAnswers(page: Page, procedure: string, change: (data: Record<string, unknown>) => object) {
  return page.route(`**/operator/${procedure}*`, async (route) => {
    const response = await route.fetch()
    const { result } = await response.json()
    await route.fulfill({ response, json: { result: { data: change(result.data) } } })
  })
}

const row = ({ page }: Visit, eventId: string) => page.getByRole('link', { name: eventId, exact: true })
const button = ({ page }: Visit, name: string) => page.getByRole('button', { name })

describe('clicks for each task', () => {
  it('0: a search in bodies that was cut says how far back it has searched, and 1: continues from there', async () => {
    await using visit = await console.open()
    const { page } = visit
    const count = countClicks(page)
    const cut = { searchedTo: '2026-11-02T10:00:00.000Z' }
    await changeAnswers(page, 'events.feed', () => ({ items: [], next: 'f'.repeat(24), cut }))
    await visit.signIn('/events')
    await visit.search('canary', 'bodies')
    await count.take()
    await page.getByText('The search took too long and stopped. It has searched back to').waitFor()
    await page.getByRole('status').getByText('2026-11-02 19:00:00').waitFor()
    expect(await count.take()).toBe(0)
    await page.unroute('**/operator/events.feed*')
    await button(visit, 'Search further back').click()
    await button(visit, 'Search further back').waitFor({ state: 'detached' })
    expect([await count.take(), visit.problems]).toEqual([1, []])
  })

  it('2: which were duplicates or changed copies', async () => {
    const { orderId } = await pay(console, 'evt_copied')
    await pay(console, 'evt_once')
    await console.system.deliver(paymentEvent('evt_copied', { orderId, note: 'changed' }))
    await console.system.until('evt_copied', ({ mismatches }) => mismatches === 1)
    await using visit = await open('/events')
    await row(visit, 'evt_once').waitFor()
    await visit.page.getByRole('button', { name: 'Filters', exact: true }).click()
    await visit.page.getByRole('group', { name: 'Duplicates' }).getByText('with another body').click()
    await row(visit, 'evt_once').waitFor({ state: 'detached' })
    await row(visit, 'evt_copied').waitFor()
    expect([await visit.count.take(), visit.problems]).toEqual([2, []])
  })

  it('2: replay many, counted first, with a reason and a rate; 1 more cancels, and progress is shown', async () => {
    // At one a second, the replay lasts long enough to be cancelled on a slow machine.
    const many = Array.from({ length: MANY }, (_, number) => sampleRecord({ eventId: `evt_many_${number}` }))
    await console.system.events.insertMany(
      many.map((record) => ({ ...record, state: 'dead', reason: 'amount_mismatch' })),
    )
    const dead = await console.system.events.countDocuments({ state: 'dead' })
    await using visit = await open('/events?state=dead')
    const { page } = visit
    await row(visit, `evt_many_${MANY - 1}`).waitFor()
    await button(visit, 'Replay these…').click()
    await page.getByText(`${dead} events will be due again.`).waitFor()
    expect(await console.system.events.countDocuments({ state: 'dead' })).toBe(dead)
    await giveReason(visit, 'prices are right now')
    await page.keyboard.press('Tab')
    await page.keyboard.type('1')
    await button(visit, `Replay ${dead} events`).click()
    await page.getByRole('progressbar').waitFor()
    expect(await visit.count.take()).toBe(2)
    await button(visit, 'Cancel the replay').click()
    await page.getByText('cancelled').waitFor()
    expect([await visit.count.take(), visit.problems]).toEqual([1, []])
  })

  it('1: rotate a secret without a gap, guided from the line for the settings to the end of the old one', async () => {
    const { system } = console
    const older = { id: 'older', value: system.secrets.older }
    const rotated = { ...PROVIDERS, acme: { ...PROVIDERS.acme, secrets: [older] } }
    await system.writeProviders(rotated)
    await using visit = await openHurried(console)
    const count = countClicks(visit.page)
    await visit.signIn('/providers')
    await count.take()
    const { page } = visit
    const part = page.getByRole('region', { name: 'Secrets of acme' }).first().locator('..')
    await part.getByRole('cell', { name: 'older' }).waitFor()
    await visit.soon(part.getByRole('cell', { name: 'newer' }), 'gone')
    await part.getByRole('button', { name: 'Rotate a secret…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Rotate a secret of acme without a gap' })
    const line = await dialog.locator('pre').textContent()
    const added: { id: string; value: { file: string } } = JSON.parse(String(line).replace(/,$/, ''))
    expect(added.value.file).toBe(`/run/secrets/acme-${added.id}`)
    const file = `${system.providersFile}.new`
    await writeFile(file, system.secrets.newer)
    const both = { ...PROVIDERS.acme, secrets: [{ ...added, value: { file } }, older] }
    await system.writeProviders({ ...PROVIDERS, acme: both })
    await visit.soon(dialog.getByRole('status').getByText(`“${added.id}” is in the settings and has not matched yet`))
    expect(
      await system.deliver(paymentEvent('evt_old', {}, 'customer.created'), { secret: system.secrets.older }),
    ).toBe(200)
    expect(
      await system.deliver(paymentEvent('evt_new', {}, 'customer.created'), { secret: system.secrets.newer }),
    ).toBe(200)
    await visit.soon(dialog.getByText('Wait until “older” has not matched for 3 days'))
    const lastAt = new Date(Date.now() - 4 * 86_400_000)
    const stats = system.events.db.collection('tallies')
    // The gateway writes what it counted from time to time, and the newest match wins.
    const isCounted = () => stats.countDocuments({ '_id.name': { $in: ['older', added.id] } })
    await expect.poll(isCounted).toBe(2)
    await stats.updateOne({ '_id.name': 'older' }, { $set: { lastAt } })
    await visit.soon(dialog.getByText('“older” can be removed'))
    await dialog.getByText('Remove the line with the id “older” now').waitFor()
    const text = String(await page.textContent('body'))
    for (const secret of Object.values(system.secrets)) expect(text).not.toContain(secret)
    expect([await count.take(), visit.problems]).toEqual([1, []])
    await system.writeProviders({
      acme: { scheme: 'stripe', secrets: [{ id: 'gone', value: { file: `${file}.not` } }] },
    })
    await visit.go('/providers')
    await visit.soon(page.getByRole('alert').getByText('secret gone cannot be read'))
    // The next test has the usual secrets again.
    const changes = () => system.gateway.logs.filter(({ msg }) => msg === 'providers.changed').length
    const before = changes()
    await system.writeProviders(PROVIDERS)
    await expect.poll(changes).toBe(before + 1)
  })

  it('2: release a parked receipt', async () => {
    const { orderId } = await pay(console, 'evt_receipt')
    const { db, dbName } = console.system.events
    const orders = db.client.db(`${dbName}_fulfilment`).collection<{ _id: string }>('orders')
    const isSent = () => orders.countDocuments({ _id: orderId, 'receipts.0.state': 'sent' })
    await expect.poll(isSent).toBe(1)
    await orders.updateOne({ _id: orderId }, { $set: { 'receipts.0.state': 'parked', 'receipts.0.dueAt': null } })
    await using visit = await open('/receipts')
    await button(visit, 'Release…').click()
    await giveReason(visit, 'the customer has none')
    await button(visit, 'Release the receipt').click()
    await button(visit, 'Release…').waitFor({ state: 'detached' })
    expect([await visit.count.take(), visit.problems]).toEqual([2, []])
  })

  it('2: release all parked receipts, counted first', async () => {
    const { db, dbName } = console.system.events
    const orders = db.client.db(`${dbName}_fulfilment`).collection<{ _id: string }>('orders')
    const ids = [await pay(console, 'evt_parked_1'), await pay(console, 'evt_parked_2')].map(({ orderId }) => orderId)
    const states = (state: string) => () => orders.countDocuments({ _id: { $in: ids }, 'receipts.0.state': state })
    await expect.poll(states('sent')).toBe(2)
    const parked = { 'receipts.0.state': 'parked', 'receipts.0.dueAt': null }
    await orders.updateMany({ _id: { $in: ids } }, { $set: parked })
    await using visit = await open('/receipts')
    await button(visit, 'Release all parked…').click()
    await visit.page.getByText('2 parked receipts will be sent').waitFor()
    await giveReason(visit, 'the mail server is back')
    await button(visit, 'Release them all').click()
    await visit.page.getByRole('dialog').waitFor({ state: 'detached' })
    await expect.poll(states('parked')).toBe(0)
    expect([await visit.count.take(), visit.problems]).toEqual([2, []])
  })

  it('0: which provider is silent, and which secret ends soon', async () => {
    await using visit = await console.open()
    const { page } = visit
    const count = countClicks(page)
    const at = new Date().toISOString()
    await changeAnswers(page, 'providers.health', (health) => {
      const [first, second, ...others] = health.providers as object[]
      const ending = { ...first, secretsEnding: [{ id: 'older', notAfter: at, lastMatchedAt: null }] }
      return { ...health, providers: [ending, { ...second, silentSince: at, usualGapSeconds: 60 }, ...others] }
    })
    await visit.signIn('/')
    await count.take()
    const needs = page.getByRole('region', { name: 'Needs you' })
    await needs.getByRole('link', { name: 'shop is silent' }).waitFor()
    await needs.getByRole('link', { name: 'The secret older of acme expires' }).waitFor()
    expect([await count.take(), visit.problems]).toEqual([0, []])
  })
})
