import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsoleUnderTest, startConsole, type Visit } from '../support/console/open-console.ts'
import { pay } from '../support/console/pay.ts'

let console: ConsoleUnderTest
beforeAll(async () => {
  console = await startConsole()
})
afterAll(() => console[Symbol.asyncDispose]())

// The name that a screen reader would read for the focused element, without the key that a button names.
const NAME = `(() => {
  const focused = document.activeElement
  const label = focused.getAttribute('aria-label') ?? focused.labels?.[0]?.textContent ?? focused.textContent
  return label.trim()
})()`

const nameOfFocused = ({ page }: Visit): Promise<string> => page.evaluate<string>(NAME)

const MOST_TABS = 80

/** Presses Tab until the element with this name has the focus. */
async function tabTo(visit: Visit, name: string): Promise<void> {
  for (let tabs = 0; tabs < MOST_TABS; tabs += 1) {
    if ((await nameOfFocused(visit)) === name) return
    await visit.page.keyboard.press('Tab')
  }
  throw new Error(`Tab does not lead to ${name}`)
}

/** Signs in at an address without the pointer. */
async function signIn(visit: Visit, path: string): Promise<void> {
  const { page } = visit
  await page.goto(`${console.url}${path}`)
  await page.getByLabel('Operator token').waitFor()
  await tabTo(visit, 'Operator token')
  await page.keyboard.type(console.system.tokens.operators.alice)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
}

/** Opens the dialog of a button and gives a reason. The field has the focus already. */
async function giveReason(visit: Visit, button: string, reason: string): Promise<void> {
  const { page } = visit
  await tabTo(visit, button)
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.type(reason)
}

const closed = ({ page }: Visit): Promise<void> => page.getByRole('dialog').waitFor({ state: 'detached' })

it('a dead event is found, opened and replayed with a reason, and the result is seen, with keys alone', async () => {
  await pay(console, 'evt_keys', 1)
  await using visit = await console.open()
  const { page } = visit
  await signIn(visit, '/events')
  await tabTo(visit, 'dead')
  await page.keyboard.press('Enter')
  await page.waitForURL((url) => url.searchParams.get('state') === 'dead')
  // The address changes before the list, and a new list has no focus.
  await page.getByLabel('State').locator('[aria-current]', { hasText: 'dead' }).waitFor()
  await page.getByRole('link', { name: 'evt_keys', exact: true }).waitFor()
  await page.keyboard.press('j')
  await expect.poll(() => nameOfFocused(visit)).toBe('evt_keys')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'evt_keys' }).waitFor()
  await page.getByRole('button', { name: 'Replay…' }).waitFor()
  await page.keyboard.press('r')
  await page.getByText('1 event will be due again.').waitFor()
  await page.keyboard.type('the price list was wrong')
  await page.keyboard.press('Enter')
  await page.getByText('finished').waitFor()
  await page.getByText('1 of 1 event due again').waitFor()
  await expect.poll(() => nameOfFocused(visit)).toBe('Replay')
  const { replays } = await console.system.until('evt_keys', (record) => record.replays?.length === 1)
  expect(replays?.[0]).toMatchObject({ by: 'alice', reason: 'the price list was wrong' })
  expect(visit.problems).toEqual([])
})

describe('the focus after a dialog', () => {
  it('returns to its button: after Escape, after “Cancel”, and after a confirmed pause', async () => {
    await using visit = await console.open()
    const { page } = visit
    await signIn(visit, '/providers')
    await page.getByRole('button', { name: 'Pause…' }).first().waitFor()
    await giveReason(visit, 'Pause…', 'never sent')
    await page.keyboard.press('Escape')
    await closed(visit)
    await expect.poll(() => nameOfFocused(visit)).toBe('Pause…')
    await giveReason(visit, 'Pause…', 'never sent')
    await tabTo(visit, 'Cancel')
    await page.keyboard.press('Enter')
    await closed(visit)
    await expect.poll(() => nameOfFocused(visit)).toBe('Pause…')
    for (const [button, next] of [
      ['Pause…', 'Resume…'],
      ['Resume…', 'Pause…'],
    ] as const) {
      await giveReason(visit, button, 'prices are wrong')
      await page.keyboard.press('Enter')
      await closed(visit)
      await expect.poll(() => nameOfFocused(visit)).toBe(next)
    }
    expect(visit.problems).toEqual([])
  })
})
