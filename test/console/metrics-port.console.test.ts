import { paymentEvent } from '@oncehook/gateway/testing/start-operated-system'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openHurried } from '../support/console/hurried-page.ts'
import { type ConsoleUnderTest, startConsole, type Visit } from '../support/console/open-console.ts'

let console: ConsoleUnderTest
beforeAll(async () => {
  console = await startConsole({ METRICS_PORT: '0' })
})
afterAll(() => console[Symbol.asyncDispose]())

const answered = ({ page }: Visit) =>
  page.getByRole('region', { name: 'Overview' }).getByText('99 % answered within').locator('..')

it('how quickly deliveries are answered is shown where another port has the metrics, in words before the first one', async () => {
  const { system } = console
  expect((await system.call('/metrics')).status).toBe(404)
  await using visit = await openHurried(console)
  await visit.signIn('/')
  await answered(visit).getByText('no delivery yet').waitFor()
  expect(await system.deliver(paymentEvent('evt_answered', { orderId: await system.order() }))).toBe(200)
  await visit.soon(answered(visit).getByText(/\d+ ms$|10 s$/))
  await visit.page.getByText(/^99 % of 1 delivery were answered within/).waitFor()
  expect(visit.problems).toEqual([])
})
