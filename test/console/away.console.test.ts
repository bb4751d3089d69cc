import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ConsoleUnderTest, startConsole } from '../support/console/open-console.ts'

const CALLS = '**/operator/**'

let console: ConsoleUnderTest
beforeAll(async () => {
  console = await startConsole()
  await console.system.events.insertOne(sampleRecord({ eventId: 'evt_seen' }))
})
afterAll(() => console[Symbol.asyncDispose]())

it.each([
  ['/events', ['overview', 'events.feed']],
  ['/', ['overview', 'minutes', 'providers.health']],
  ['/providers', ['providers.list']],
  ['/audit', ['audit.list', 'audit.verify']],
] as const)('%s says once that the gateway does not answer, and continues when it is back', async (path, calls) => {
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn('/receipts')
  await page.getByRole('heading', { name: 'Receipts' }).waitFor()
  const failed = new Set<string>()
  page.on('requestfailed', (request) => failed.add(new URL(request.url()).pathname.replace('/operator/', '')))
  await page.route(CALLS, (route) => route.abort())
  await visit.go(path)
  await page.getByRole('alert').waitFor()
  await expect.poll(() => calls.filter((call) => !failed.has(call))).toEqual([])
  const alerts = page.getByRole('alert')
  expect(await alerts.count()).toBe(1)
  expect(await alerts.textContent()).toContain('The gateway does not answer.')
  await page.unroute(CALLS)
  await alerts.getByRole('button', { name: 'Try again' }).click()
  await alerts.waitFor({ state: 'detached' })
  expect(visit.problems).toEqual([])
})

// A hundredth of the time that the page waits for an answer.
const IMPATIENT = `(() => {
  const timeout = AbortSignal.timeout.bind(AbortSignal)
  AbortSignal.timeout = (ms) => timeout(ms / 100)
})()`

it('a gateway that takes calls and never answers is shown as such, with the time of its last answer', async () => {
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn('/events')
  await page.getByRole('status').getByText('Live', { exact: true }).waitFor()
  await page.evaluate(IMPATIENT)
  await page.route(CALLS, async () => undefined)
  await page.getByRole('status').getByText('Not live: the gateway does not answer').waitFor()
  expect(await page.getByRole('alert').allTextContents()).toEqual([
    expect.stringContaining('Its last answer came at 20'),
  ])
})
