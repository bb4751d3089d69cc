import { PROVIDERS } from '@oncehook/gateway/testing/start-operated-system'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { countClicks } from '../support/console/count-clicks.ts'
import { type ConsoleUnderTest, startConsole, type Visit } from '../support/console/open-console.ts'
import { pay } from '../support/console/pay.ts'

const MANY = 40
// The height of about four rows of names.
const MOST_HEIGHT = 120
const QUIET = Array.from({ length: MANY - 2 }, (_, index) => `shop-of-country-${index + 10}`)
const LAST = String(QUIET.at(-1))

let console: ConsoleUnderTest
beforeAll(async () => {
  const quiet = QUIET.map((name) => [name, PROVIDERS.shop] as const)
  const all = { ...PROVIDERS, ...Object.fromEntries(quiet) }
  console = await startConsole({ PROVIDERS_FILE: '', PROVIDERS: JSON.stringify(all) })
  await pay(console, 'evt_listed')
})
afterAll(() => console[Symbol.asyncDispose]())

const filterOf = ({ page }: Visit) => page.getByRole('group', { name: 'Provider', exact: true })

/** Whether the filter shows the last name without scrolling. */
const IS_SHOWN = `(() => {
  const button = document.querySelector('button[value="${LAST}"]')
  const [inner, outer] = [button, button.closest('fieldset')].map((element) => element.getBoundingClientRect())
  return inner.top >= outer.top && inner.bottom <= outer.bottom
})()`

describe.each([1280, 360])(`with ${MANY} providers at %d px`, (width) => {
  it.each([
    ['/events', 'No event matches these filters'],
    ['/refused', 'No refused delivery matches these filters'],
  ])('1: filter %s by a provider that is not in the list', async (path, sign) => {
    await using visit = await console.open({ width, height: 760 })
    const { page } = visit
    const count = countClicks(page)
    await visit.signIn(path)
    const name = filterOf(visit).getByRole('button', { name: LAST, exact: true })
    await name.waitFor()
    expect((await filterOf(visit).boundingBox())?.height).toBeLessThan(MOST_HEIGHT)
    await count.take()
    await name.click()
    await page.getByText(sign).waitFor()
    expect([await count.take(), new URL(page.url()).search]).toEqual([1, `?provider=${LAST}`])
    await using other = await console.open({ width, height: 760 })
    await other.signIn(`${path}?provider=${LAST}`)
    const chosen = filterOf(other).locator('[aria-current]')
    await expect.poll(() => chosen.allTextContents()).toEqual([LAST])
    await expect.poll(() => other.page.evaluate<boolean>(IS_SHOWN)).toBe(true)
    expect(await other.page.evaluate('document.documentElement.scrollWidth > window.innerWidth')).toBe(false)
    expect([...visit.problems, ...other.problems]).toEqual([])
  })
})

it('a provider that is no longer configured can still be chosen by its address, and left', async () => {
  await using visit = await console.open()
  await visit.signIn('/events?provider=of-last-year')
  const filter = filterOf(visit)
  await expect.poll(() => filter.locator('[aria-current]').allTextContents()).toEqual(['of-last-year'])
  await filter.getByRole('button', { name: 'All providers' }).click()
  await visit.page.getByRole('link', { name: 'evt_listed' }).waitFor()
  expect(await filter.getByRole('button', { name: 'of-last-year' }).count()).toBe(0)
  expect(visit.problems).toEqual([])
})
