import type { Page } from 'playwright-core'

/** Counts what the user of a page does with the pointer, or with keys instead of it. */
export interface ClickCount {
  /** The clicks since the last call. */
  take(): Promise<number>
}

// Each press of the pointer counts, and each Enter or Space on an element that a pointer would press. A choice in a
// list counts as two: one to open the list, one to choose. The page counts, so a test cannot forget a click.
// It runs in every window before the page.
export const CLICK_COUNTER = `(() => {
  let clicks = 0
  const isChoice = (target) => target instanceof Element && target.closest('select') !== null
  const PRESSED = 'a, button, summary, input:is([type=checkbox], [type=radio])'
  addEventListener('pointerdown', (event) => { if (event.isTrusted && !isChoice(event.target)) clicks += 1 }, true)
  addEventListener('change', (event) => { if (isChoice(event.target)) clicks += 2 }, true)
  addEventListener('keydown', (event) => {
    const isPress = ['Enter', ' '].includes(event.key) && event.target instanceof Element && event.target.matches(PRESSED)
    if (event.isTrusted && isPress) clicks += 1
  }, true)
  Object.defineProperty(window, 'takeClicks', { value: () => { const taken = clicks; clicks = 0; return taken } })
})()`

/** Counts what its user does with a page since it was loaded. */
export function countClicks(page: Page): ClickCount {
  return { take: async () => Number(await page.evaluate('takeClicks()')) }
}
