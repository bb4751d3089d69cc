import { randomUUID } from 'node:crypto'
import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { type ConsoleUnderTest, startConsole } from '../support/console/open-console.ts'
import { pay } from '../support/console/pay.ts'

let console: ConsoleUnderTest
beforeAll(async () => {
  console = await startConsole()
})
afterAll(() => console[Symbol.asyncDispose]())
// Refused unless the test has paused it.
afterEach(() => change('resume').catch(() => undefined))

function change(what: 'pause' | 'resume') {
  return console.system.operator().providers[what].mutate({ provider: 'shop', reason: 'for a test' })
}

// Within one task: the page has no time to render in between.
const SUBMIT_TWICE = `(() => {
  const form = document.querySelector('dialog form')
  for (const _ of [1, 2]) form.requestSubmit()
})()`

const CANCEL_TWICE = `(() => {
  const button = [...document.querySelectorAll('main button')].find((one) => one.textContent === 'Cancel the replay')
  for (const _ of [1, 2]) button.click()
})()`

/** The requests to a procedure from now on. Counts of events are left out, because they change nothing. */
function listenFor(page: Page, procedure: string): string[] {
  const asked: string[] = []
  page.on('request', (request) => {
    const body = request.postData() ?? ''
    if (request.url().includes(`/operator/${procedure}`) && !body.includes('dryRun')) asked.push(body)
  })
  return asked
}

it('one replay is started by two submissions right after each other', async () => {
  const { system } = console
  const { id } = await pay(console, `evt_once_${randomUUID()}`, 1)
  const reason = `wanted once: ${randomUUID()}`
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn(`/events/${id}`)
  const asked = listenFor(page, 'events.replay')
  await page.getByRole('button', { name: 'Replay…' }).click()
  await page.getByText('1 event will be due again.').waitFor()
  await page.getByRole('textbox', { name: 'Reason' }).fill(reason)
  await page.evaluate(SUBMIT_TWICE)
  await page.getByText('finished').waitFor()
  const { items } = await system.operator().replays.list.query()
  expect([asked.length, items.filter((one) => one.reason === reason).length]).toEqual([1, 1])
  expect(visit.problems).toEqual([])
})

it.each([
  ['providers.pause', 'Pause…', 'Resume…'],
  ['providers.resume', 'Resume…', 'Pause…'],
  ['events.sendTest', 'Send a test event…', 'Send a test event…'],
])('one call of %s is made by two submissions right after each other', async (procedure, button, next) => {
  if (procedure === 'providers.resume') await change('pause')
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn('/providers')
  const part = page.getByRole('region', { name: 'Secrets of shop' }).locator('..')
  const asked = listenFor(page, procedure)
  await part.getByRole('button', { name: button }).click()
  await page.getByRole('textbox', { name: 'Reason' }).fill('wanted once')
  await page.evaluate(SUBMIT_TWICE)
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await part.getByRole('button', { name: next }).waitFor()
  expect([asked.length, visit.problems]).toEqual([1, []])
})

it('a replay is cancelled once by two clicks right after each other', async () => {
  const { system } = console
  const records = Array.from({ length: 60 }, () => sampleRecord({ state: 'dead', reason: 'amount_mismatch' }))
  await system.events.insertMany(records)
  const ids = records.map(({ _id }) => String(_id))
  // At one a second, the replay lasts long enough to be cancelled on a slow machine.
  const { replayId } = await system
    .operator()
    .events.replay.mutate({ ids, reason: 'to be cancelled', ratePerSecond: 1, includeDone: true })
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn(`/replays/${replayId}`)
  const asked = listenFor(page, 'replays.cancel')
  await page.getByRole('button', { name: 'Cancel the replay' }).waitFor()
  await page.evaluate(CANCEL_TWICE)
  await page.getByText('cancelled').waitFor()
  expect([asked.length, visit.problems]).toEqual([1, []])
})

it('a call that has failed can be made again', async () => {
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn('/providers')
  const part = page.getByRole('region', { name: 'Secrets of shop' }).locator('..')
  await part.getByRole('button', { name: 'Pause…' }).click()
  await page.getByRole('textbox', { name: 'Reason' }).fill('a second try')
  await page.route('**/operator/providers.pause', (route) => route.abort())
  await page.getByRole('button', { name: 'Pause shop' }).click()
  await page.getByRole('alert').getByText('The gateway does not answer.').waitFor()
  await page.unroute('**/operator/providers.pause')
  await page.getByRole('button', { name: 'Pause shop' }).click()
  await part.getByRole('button', { name: 'Resume…' }).waitFor()
  expect(visit.problems).toEqual([])
})
