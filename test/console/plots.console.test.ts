import { paymentEvent } from '@oncehook/gateway/testing/start-operated-system'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findBarriers, type Looks } from '../support/console/find-barriers.ts'
import { openHurried } from '../support/console/hurried-page.ts'
import { type ConsoleUnderTest, startConsole } from '../support/console/open-console.ts'

const ANSWERS = '**/operator/answers*'
const SPANS = 60

let console: ConsoleUnderTest
beforeAll(async () => {
  console = await startConsole()
})
afterAll(() => console[Symbol.asyncDispose]())

/** Ten minutes of answers. */
async function showAnswers(page: Page): Promise<void> {
  const end = Date.UTC(2026, 5, 1, 12)
  const points = Array.from({ length: SPANS }, (_, index) => ({
    ...{ at: new Date(end - (SPANS - index) * 10_000).toISOString(), seconds: 10 },
    ...{ accepted: 1_000 + index * 100, refused: index % 7, p99Ms: index % 5 === 0 ? null : 25 },
  }))
  await page.route(ANSWERS, (route) => route.fulfill({ json: { result: { data: { points } } } }))
}

/** The number of colours in a plot, not counting `none`. */
const coloursOf = (page: Page): Promise<unknown> =>
  page.evaluate(`Array.from(document.querySelectorAll('figure canvas'), (canvas) => {
    const copy = document.createElement('canvas')
    copy.width = canvas.width
    copy.height = canvas.height
    const context = copy.getContext('2d', { willReadFrequently: true })
    context.drawImage(canvas, 0, 0)
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height)
    return new Set(new Uint32Array(data.buffer).filter((pixel) => pixel >>> 24 === 255)).size
  })`)

it('rates and times of the last hour are plots, and the same numbers are a table', async () => {
  await using visit = await console.open()
  const { page } = visit
  await showAnswers(page)
  await visit.signIn('/health')
  await page.getByRole('img', { name: 'Deliveries per second' }).waitFor()
  await page.getByRole('img', { name: 'Time to answer' }).waitFor()
  await page.getByText('If several processes run, each counts its own deliveries').waitFor()
  const areDrawn = async () => ((await coloursOf(page)) as number[]).map((colours) => colours > 1)
  await expect.poll(areDrawn).toEqual([true, true])
  await page.getByText('As a table').click()
  const rows = page.getByRole('region', { name: 'Deliveries by minute' }).getByRole('row')
  expect(await rows.count()).toBe(11)
  expect(await rows.nth(1).innerText()).toMatch(/2026.*\s665\s.*\s25\s*$/s)
  expect(visit.problems).toEqual([])
})

it.each([
  [1_280, { light: 'all', dark: 'colours' }],
  // Colours do not depend on the width.
  [360, { light: 'forms' }],
] as const)('the plots fit into a window of %d px, and axe finds nothing', async (width, themes) => {
  await using visit = await console.open({ width, height: 800 })
  const { page } = visit
  await showAnswers(page)
  await visit.signIn('/health')
  await page.getByRole('img', { name: 'Time to answer' }).waitFor()
  await page.getByText('As a table').click()
  for (const [colorScheme, looks] of Object.entries(themes) as ['light' | 'dark', Looks][]) {
    await page.emulateMedia({ colorScheme })
    expect(await findBarriers(page, looks)).toEqual([])
  }
  expect(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth')).toBe(false)
  expect(visit.problems).toEqual([])
})

it('the numbers are shown even if the file of the plots is missing', async () => {
  await using visit = await console.open()
  const { page } = visit
  await showAnswers(page)
  await page.route('**/assets/line-plot-*.js', (route) => route.fulfill({ status: 404, body: '' }))
  await visit.signIn('/health')
  await page.getByText('Time to answer: the plot could not be loaded').waitFor()
  await page.getByText('As a table').click()
  await page.getByRole('region', { name: 'Deliveries by minute' }).waitFor()
})

it('a gateway that has just started says when its first numbers appear, and then shows them', async () => {
  await using visit = await openHurried(console)
  const { page, problems } = visit
  await page.route(ANSWERS, (route) => route.fulfill({ json: { result: { data: { points: [] } } } }))
  await visit.signIn('/health')
  await page.getByText('The first numbers appear').waitFor()
  await page.unroute(ANSWERS)
  await console.system.deliver(paymentEvent('evt_plotted'))
  await visit.soon(page.getByRole('img', { name: 'Deliveries per second' }))
  expect(problems).toEqual([])
})
